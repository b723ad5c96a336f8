"""What Java could not pass on of a failure is found in its log."""

from pathlib import Path

import pytest

from processor_runtime.spark.java_output import LogRefused, java_output_to, told_by_java

BROKEN = "EOFError (serializers.py, line 604)"
DEATH = """\
26/11/23 06:55:52 WARN BlockManager: putting it failed
Exception in thread "stateConnectionListenerThread" org.apache.hadoop.fs.FSError: a.b.C: full
\tat org.apache.hadoop.fs.RawLocalFileSystem.write(RawLocalFileSystem.java:549)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 36 more
26/11/23 06:55:53 ERROR Executor: Exception in task 1.0 in stage 4.0 (TID 6)
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] EOFError
Caused by: java.io.EOFException
"""


def test_the_thread_that_died_says_why_a_connection_broke_off(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(f'Exception in thread "before" a.B: of another run\n{DEATH}')
    told = told_by_java(BROKEN, log, since=0)
    assert told.endswith(f": IOException: No space left on device. See {log}")


@pytest.mark.parametrize("is_there", [True, False])
def test_without_a_death_the_log_is_named(tmp_path: Path, *, is_there: bool) -> None:
    log = tmp_path / "spark.log"
    if is_there:
        log.write_text(DEATH)
    told = told_by_java(BROKEN, log, since=len(DEATH))
    assert told.endswith(f": see {log}")


def test_any_other_reason_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(DEATH)
    for reason in ("ValueError: x (stages.py, line 1)", "EOFError (rules.py, line 604)"):
        assert told_by_java(reason, log, since=0) == reason


def test_a_log_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    told = f"{tmp_path} cannot be written: Is a directory. Name a file in it"
    with pytest.raises(LogRefused) as refused, java_output_to(tmp_path):
        pass
    assert str(refused.value) == told
