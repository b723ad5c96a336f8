"""What becomes of a batch in which a worker died: tried again, and then without the rule to blame.

    BatchUndone ──CulpritSearch──► run again · a trial · amended record ──► the next query

The query has ended with the batch. The job begins another on the same checkpoint, which runs the
batch again as its record says.
"""

import logging

from processor_runtime.driver.amendment import set_aside, versions_with_code
from processor_runtime.driver.batch_record import BatchRecords
from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.culprit_search import Culprit, CulpritSearch, NobodyToBlame
from processor_runtime.schedule.timeline_document import read_timeline
from processor_runtime.spark.worker_deaths import BatchUndone, WorkerBeganLate
from processor_runtime.stages.rule_errors import RuleFailed

_log = logging.getLogger("percept.job")


def plan_retry(
    undone: BatchUndone, files: Files, search: CulpritSearch, *, fails_on_error: bool
) -> None:
    """Decide how a batch is run again.

    `fails_on_error`: whether a rule that fails ends the job.

    Raises:
        RuleFailed: a rule is to blame, and the job is set to fail then.
        Exception: why the batch has failed, if no rule is to blame.
    """
    records = BatchRecords(files)
    record = records.of_batch(undone.batch_id)
    if record is None:
        raise undone
    timeline, _ = read_timeline(records.read_content(record.timeline))
    culprit: Culprit | None = None
    try:
        if undone.death is None:
            search.passed()
        else:
            culprit = search.died(undone.batch_id, undone.death, versions_with_code(timeline))
    except NobodyToBlame:
        raise undone.error or undone from None
    if culprit is None:
        _log.warning("batch %s: %s; it is run again", undone.batch_id, _what_happened(undone))
        return
    message = f"rule {culprit.version[0]}, version {culprit.version[1]}: {culprit.reason}"
    if fails_on_error:
        raise RuleFailed(message) from undone
    _log.warning("%s; it is quarantined from batch %s on", message, undone.batch_id)
    set_aside(records, record, [culprit.version], culprit.reason)


def plan_start(late: WorkerBeganLate, batch_id: int, search: CulpritSearch) -> None:
    """Let another query begin where a worker began too late for the last one, a few times.

    Raises:
        Exception: what Spark says of it, if it is so again and again.
    """
    try:
        search.began_late(batch_id)
    except NobodyToBlame:
        raise (late.__cause__ or late) from None
    _log.warning(
        "batch %s: a Python worker did not begin within ten seconds, as if the machine were too "
        "busy; it is run again",
        batch_id,
    )


def _what_happened(undone: BatchUndone) -> str:
    if undone.death is None:
        return "no Python worker died in a trial with part of the rules"
    code = undone.death.code
    at_work = "" if code is None else f" with rule {code.processor_id} at work"
    return f"a Python worker died{at_work}"
