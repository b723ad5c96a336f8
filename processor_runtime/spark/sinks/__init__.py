"""Where the rows of a batch go: one sink per output of the job file.

    rows of one micro-batch ──► JobOutputs ──► by kind ──► console · files · delta · kafka ·
                                                           jdbc · webhook · service

A batch may be written again after a crash, with the same rows under the same id; docs/outputs.md
says how each sink handles that.
"""

from processor_runtime.spark.sinks.job_outputs import JobOutput, JobOutputs, create_sinks
from processor_runtime.spark.sinks.output_sink import OutputFailed, OutputSink, SinkSurroundings

__all__ = [
    "JobOutput",
    "JobOutputs",
    "OutputFailed",
    "OutputSink",
    "SinkSurroundings",
    "create_sinks",
]
