import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Flink SQL in batch mode, one statement per line of standard input.
 *
 * <p>A SELECT has one column, a count; its sum, the seconds and the seconds of CPU go to standard output.
 */
public final class FlinkSql {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("parallelism.default", arguments[0]);
        EnvironmentSettings settings =
                EnvironmentSettings.newInstance().inBatchMode().withConfiguration(configuration).build();
        TableEnvironment tables = TableEnvironment.create(settings);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            long begin = System.nanoTime();
            long beginCpu = cpuNanos();
            long count = 0;
            try (CloseableIterator<Row> rows = tables.executeSql(line).collect()) {
                while (rows.hasNext()) {
                    Object value = rows.next().getField(0);
                    count += value instanceof Number ? ((Number) value).longValue() : 0;
                }
            } catch (Throwable failure) {
                failure.printStackTrace();
                System.exit(1); // threads of Flink would keep this program alive
            }
            double seconds = (System.nanoTime() - begin) / 1e9;
            System.out.println("RESULT " + count + " " + seconds + " " + (cpuNanos() - beginCpu) / 1e9);
        }
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }
}
