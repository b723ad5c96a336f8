"""What is read of a worker's death in the errors of Spark, and in which errors there is none."""

import pytest

from processor_runtime.spark.worker_deaths import death_in
from processor_runtime.watch.note import Death, RuleCode, empty_page, page_text, reason_text

CODE = RuleCode("p", 3, "abc", "the condition f")
PAGE = empty_page().decode()
AT_WORK = f"+{page_text(CODE).decode()}of a longer note\n"
TRACE = '\nTimeout (0:00:32)!\nThread 0x0 (most recent call first):\n  File "x.py", line 3 in f\n'


def crashed(text: str) -> str:
    return (
        "Job aborted due to stage failure: Lost task 0.0 in stage 2.0 (TID 2): "
        f"org.apache.spark.SparkException: Python worker exited unexpectedly (crashed): {text}\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.applyOrElse(PythonRunner.scala:1143)"
    )


@pytest.mark.parametrize(
    ("said", "death"),
    [
        (crashed(PAGE), Death()),
        (crashed(AT_WORK), Death(CODE)),
        (crashed(AT_WORK.replace("+", "-", 1)), Death()),
        (crashed(AT_WORK + reason_text('it was "full"')), Death(CODE, 'it was "full"')),
        (crashed(AT_WORK + TRACE), Death(CODE, "it did not return within 30 seconds")),
        ("Python worker exited unexpectedly (crashed). Consider setting 'spark…", Death()),
        ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", Death()),
        ('An exception was thrown: Traceback\n  File "x.py", line 2, in f\nMemoryError', Death()),
        ("ValueError: MemoryErrors are no news", None),
        ("[PATH_NOT_FOUND] no such path", None),
    ],
)
def test_the_death_of_a_worker_is_read(said: str, death: Death | None) -> None:
    assert death_in(said, 30.0) == death
