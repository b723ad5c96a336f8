"""The job file: what one streaming job reads, matches with and writes to, checked before Spark.

    YAML text ──► places, ${VARIABLES} ──► JobFile (frozen models) ──► composition root of the job

The columns and times of events are part of the stream's definition, which comes with the
processors; `stream_of_job` combines the two.
"""

from processor_runtime.job_file.consistency import MALFORMED_COLUMN, misfits, stream_of_job
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.loading import load_job_file
from processor_runtime.job_file.problems import JobFileError

__all__ = [
    "MALFORMED_COLUMN",
    "JobFile",
    "JobFileError",
    "load_job_file",
    "misfits",
    "stream_of_job",
]
