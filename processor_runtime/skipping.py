"""`percept job skip-rule`: takes a rule out of the batch that a job cannot finish because of it.

job file, rule ──► amended record in the checkpoint ──next start──► the batch without the rule
"""

import os
from pathlib import Path

from rich.console import Console

from processor_runtime.driver.amendment import NothingToSkip, skip
from processor_runtime.driver.checked_files import CheckedFiles, CheckpointDamaged
from processor_runtime.job_file.loading import load_job_file
from processor_runtime.job_file.problems import JobFileError
from processor_runtime.running import start_spark, usual_log


def skip_rule(path: Path, processor_id: str, console: Console) -> int:
    """Take a rule out of the batch under way of a job that does not run; return the exit code."""
    try:
        job_file = load_job_file(path, os.environ)
    except JobFileError as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        return 2
    # The checkpoint may be wherever Spark can write, so Spark reads it.
    if (spark := start_spark(job_file, usual_log(job_file), console)) is None:
        return 1
    from processor_runtime.spark.checkpoint_files import CheckpointFiles  # noqa: PLC0415
    from processor_runtime.spark.session import end_session  # noqa: PLC0415

    try:
        record = skip(CheckedFiles(CheckpointFiles(spark, job_file.checkpoint)), processor_id)
    except (CheckpointDamaged, NothingToSkip) as problem:
        console.print(f"nothing was changed: {problem}", style="red", markup=False, soft_wrap=True)
        return 1
    finally:
        end_session(spark)
    console.print(
        f"{processor_id} is left out of batch {record.batch_id} and of all after it, until it is "
        "replaced, paused or deleted",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return 0
