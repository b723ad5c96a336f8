"""What is said of written partial matches without opening them is what they are once opened."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject

from cep.nfa.codec import pack_values, runs_of_payload
from cep.nfa.machine import Machine
from cep.nfa.runs import KeyRuns
from cep.nfa.written_runs import WrittenRuns
from percept import BatchMatcher, Pattern, PatternError, Schema
from tests.brute_force.strategies import event_lists, patterns

SCHEMA = Schema.from_ddl("ts BIGINT, id BIGINT, name STRING, price DOUBLE")


@given(patterns(), event_lists(max_size=12))
def test_written_is_as_opened(document: dict[str, Any], events: list[dict[str, Any]]) -> None:
    try:
        pattern = Pattern.from_document(document, flink_quirks=True)
    except PatternError:
        reject()
    matcher = BatchMatcher({"p": pattern, "q": pattern}, schema=SCHEMA, compiles=False)
    (shape,) = matcher.matcher.shapes
    machine = shape.machine
    assert isinstance(machine, Machine)
    for event in events:
        matcher.process(pl.DataFrame([event], schema=SCHEMA.to_polars()))
        runs = shape.keys.get(None)
        if not isinstance(runs, KeyRuns):
            continue
        payload = machine.payload(runs)
        opened = runs_of_payload(payload, aggregate_count=machine.aggregate_count)
        written = WrittenRuns(payload, machine.aggregate_count)
        assert machine.payload(written) is payload
        assert said(machine, written) == said(machine, opened)
        assert written.payload is payload  # nothing of this has opened it
        assert [run[:-1] for run in written.runs] == [run[:-1] for run in opened.runs]
        assert written.payload is None
        assert said(machine, written) == said(machine, opened)
        assert machine.payload(written) == payload


def said(machine: Machine, runs: KeyRuns) -> list[Any]:
    return [
        *(runs.is_idle, runs.rules, runs.open_steps(), runs.run_count(), runs.first_start_ms),
        *(runs.held_back_rules(), runs.sequence, runs.events_bound),
        machine.next_deadline_ms(runs),
    ]


GOOD: list[Any] = [2, True, [[1], [2]], [-1, 0, 0, 0, 0, 0, 1, 1], [1, 1, 0, 5, 5, 1]]
GOOD += [[[1, [0, 0]]]]
BAD = {
    "a part is missing": GOOD[:5],
    "an event is missing": [*GOOD[:2], [[1]], *GOOD[3:]],
    "the last cell is missing": [*GOOD[:4], [1, 1, 0, 5, 5, 2], []],
    "a cell comes before itself": [*GOOD[:3], [0, 0, 0, 0, 0, 0, 1, 1], *GOOD[4:]],
    "a number is missing": [*GOOD[:4], [1, 1, 0, 5, 5], []],
    "a match held back has no cell": [*GOOD[:5], [[1, [0, 2]]]],
    "a cell has a number below zero": [*GOOD[:4], [1, 1, 0, 5, 5, -1], []],
}


@pytest.mark.parametrize("what", BAD)
def test_a_payload_that_is_not_well_formed_is_refused_by_the_compiled_machine(what: str) -> None:
    pytest.importorskip("numba")
    from cep.nfa_kernel.entries.reading import states_of  # noqa: PLC0415 - needs numba

    def is_well_formed(payload: list[Any]) -> bool:
        data = np.frombuffer(pack_values(payload), np.uint8)
        return states_of(data, np.array([[0, len(data)]]), 0, 1).is_well_formed

    assert is_well_formed(GOOD)
    assert not is_well_formed(BAD[what])
