import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.util.Collector;

/**
 * Flink CEP, one directory of CSV files per line of standard input.
 *
 * <p>Events and rules are the classes {@code Event} and {@code Rules}, made for each workload. The number of
 * matches, the seconds from the first event to the end, and the seconds of CPU go to standard output. There are no
 * checkpoints, and matches are counted and thrown away.
 */
@SuppressWarnings("deprecation")
public final class FlinkCep {
    private static volatile long firstEventNanos;

    /** All tasks run in this JVM; functions of patterns have no accumulators. */
    private static final LongAdder MATCHES = new LongAdder();

    public static void main(String[] arguments) throws Exception {
        int parallelism = Integer.parseInt(arguments[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            firstEventNanos = 0;
            long beginCpu = cpuNanos();
            long count = 0;
            try {
                count = run(line, parallelism);
            } catch (Throwable failure) {
                failure.printStackTrace();
                System.exit(1); // threads of Flink would keep this program alive
            }
            double seconds = (System.nanoTime() - firstEventNanos) / 1e9;
            System.out.println("RESULT " + count + " " + seconds + " " + (cpuNanos() - beginCpu) / 1e9);
        }
    }

    private static long run(String directory, int parallelism) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("taskmanager.memory.network.max", "1g");
        configuration.setString("taskmanager.memory.network.min", "1g");
        // With a thousand rules on a few cores it does not answer itself for longer than a minute.
        configuration.setString("heartbeat.timeout", "3600000");
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
        environment.getConfig().enableObjectReuse();
        DataStream<Event> events =
                environment
                        .addSource(new CsvFiles(directory), Types.POJO(Event.class))
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Event>forBoundedOutOfOrderness(Duration.ofMillis(Rules.DELAY_MS))
                                        .withTimestampAssigner((event, before) -> event.ts));
        List<KeyedStream<Event, String>> keyed = new ArrayList<>();
        for (int key = 0; key < Rules.KEYS; key++) {
            final int number = key;
            keyed.add(events.keyBy(event -> Rules.key(number, event), Types.STRING));
        }
        for (Rules.Rule rule : Rules.all()) {
            CEP.pattern(keyed.get(rule.key), rule.pattern).process(new Counting()).sinkTo(new DiscardingSink<>());
        }
        MATCHES.reset();
        environment.execute();
        return MATCHES.sum();
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    /** The lines of all files in the order of their names. */
    private static final class CsvFiles implements SourceFunction<Event> {
        private final String directory;

        CsvFiles(String directory) {
            this.directory = directory;
        }

        @Override
        public void run(SourceContext<Event> context) throws Exception {
            List<Path> paths;
            try (Stream<Path> found = Files.list(Path.of(directory))) {
                paths = found.filter(path -> path.toString().endsWith(".csv")).sorted().toList();
            }
            firstEventNanos = System.nanoTime();
            for (Path path : paths) {
                try (BufferedReader lines = Files.newBufferedReader(path)) {
                    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                        context.collect(Event.read(line));
                    }
                }
            }
        }

        @Override
        public void cancel() {}
    }

    private static final class Counting extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            MATCHES.increment();
        }
    }
}
