"""Jobs with a rule not all of whose matches go out; any events for them, in any batches."""

from typing import Any, Final

from hypothesis import strategies as st

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.expression import Schema
from cep.pattern import Problem
from contract.snapshot import SnapshotProcessor, SnapshotVersion
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import job_of, sequence
from tests.processor_runtime.core.pipeline import Event, Pipeline
from tests.processor_runtime.core.random_rules import arrivals

ALL_KINDS: Final = frozenset(
    {"match", "timeout", "side", "suppressed", "grouped", "group", "late", "error"}
)
A: Final = sequence("a")
AB: Final = sequence("ab", within_ms=20)
PRICE: Final = {"price": "a.price"}
ALL_ROWS: Final = {
    "match_recognize": "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES A.price AS price "
    "ALL ROWS PER MATCH PATTERN (A A A) DEFINE A AS name = 'a')"
}


def pipeline(
    *rules: SnapshotProcessor | SnapshotVersion, wanted: frozenset[str] = ALL_KINDS, **options: Any
) -> Pipeline:
    return job_of(*rules, matching=MatchSettings(wanted), **options)


def alerting_arrivals(users: str = "uv") -> st.SearchStrategy[tuple[int, list[Event]]]:
    """Return events of which many are of one time, and some come after a while."""
    prices, passing = st.integers(0, 3), [0, 0, 1, 3, 9]
    how: dict[str, Any] = {"delays": [0, 5], "sizes": (1, 50), "passing": passing, "prices": prices}
    return arrivals(names="ab", users=users, **how)


def run_at_once(rule: SnapshotVersion, arrived: tuple[int, list[Event]]) -> Pipeline:
    delay_ms, events = arrived
    job = pipeline(rule, delay_ms=delay_ms)
    job.batch(events)
    job.advance(9_000)
    return job


def run_divided(job: Pipeline, events: list[Event], data: st.DataObject) -> None:
    """Run batches of any sizes, some of them again, some by another process."""
    rest = events
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        job.batch(rest[:size])
        then = data.draw(st.sampled_from(["on", "on", "replay", "restart"]))
        if then == "replay":
            job.replay()
        elif then == "restart":
            job.restart()
        rest = rest[size:]


def problems_of(alert: Any, select: Any = PRICE) -> list[Problem]:
    """Return what is wrong with what a rule says of its alerts."""
    document = {"pattern": A, "select": select, "alert": alert}
    schema = Schema.from_ddl("name STRING, price BIGINT")
    return list(check_definition(document, schema, ProcessorContent).problems)
