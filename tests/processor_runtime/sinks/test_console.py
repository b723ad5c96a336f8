"""The newest rows of a batch, a bounded number of them, as nothing but text."""

import io

import pytest
from rich.console import Console

from processor_runtime.spark.sinks.console import ConsoleSink
from tests.processor_runtime.sinks.rows import Frame, Values, error, late, match, output


def printed(frame: Frame, *rows: Values, rows_per_batch: int = 20) -> str:
    terminal = Console(file=io.StringIO(), width=120)
    wanted = output(type="console", rows_per_batch=rows_per_batch)
    ConsoleSink(wanted, terminal).write(frame(*rows), 7, len(rows))
    assert isinstance(terminal.file, io.StringIO)
    return terminal.file.getvalue()


def test_rows_of_every_kind_are_readable(frame: Frame) -> None:
    text = printed(frame, match(), late(), error())
    assert "batch 7: 3 rows" in text
    match_line = next(line for line in text.splitlines() if "failed-logins v2" in line)
    assert "2027-01-15 07:58:21.123" in match_line
    assert "│ eve " in match_line
    assert '"failures": 1' in match_line
    assert '{"user": "ana"}' in text
    assert "processor: KeyError: 'amount'" in text


@pytest.mark.long
def test_of_a_large_batch_the_newest_rows_are_shown_and_the_rest_counted(frame: Frame) -> None:
    text = printed(frame, *map(match, range(10)), rows_per_batch=2)
    assert '"failures": 9' in text
    assert '"failures": 8' in text
    assert '"failures": 7' not in text
    assert "and 8 more" in text


@pytest.mark.long
def test_an_empty_batch_prints_nothing(frame: Frame) -> None:
    assert printed(frame) == ""


@pytest.mark.long
def test_neither_markup_nor_escapes_of_an_event_reach_the_terminal(frame: Frame) -> None:
    nasty = '["[red]x[/red]", "\x1b[2J\x9b2J"]'.replace("\x1b", "\\u001b")
    text = printed(frame, match(key=nasty, output='"[link=http://evil]click[/link]"'))
    assert "[red]x[/red]" in text
    assert "[link=http://evil]" in text
    assert "\x1b" not in text
    assert "\x9b" not in text


@pytest.mark.long
def test_long_content_is_cut(frame: Frame) -> None:
    assert "x…" in printed(frame, match(output=f'"{"x" * 5_000}"')).replace("\n", "")
