"""docs/snapshot.md: its example is a snapshot, and its table has every key of one."""

import json
import re

from cep.definition.document import ProcessorContent
from contract.snapshot import (
    Snapshot,
    SnapshotList,
    SnapshotListVersion,
    SnapshotProcessor,
    SnapshotRollout,
    SnapshotSnooze,
    SnapshotVersion,
)
from tests.docs.fences import fences, rows

PAGE = "docs/snapshot.md"
TABLE = {
    name: row["meaning"]
    for row in rows(PAGE, "field", "meaning")
    for name in re.findall(r"`(\w+)`", row["field"])
}


def words(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def keys(model: type) -> set[str]:
    properties: dict[str, object] = model.model_json_schema(by_alias=True)["properties"]  # type: ignore[attr-defined]
    return set(properties)


def test_the_example_is_a_snapshot_with_every_key_that_is_always_there() -> None:
    (example,) = (each.text for each in fences(PAGE) if each.language == "json")
    snapshot = Snapshot.model_validate_json(example)
    assert json.loads(snapshot.model_dump_json(by_alias=True)) == json.loads(example)
    assert [version.version for version in snapshot.processors[0].versions] == [2, 3]


def test_every_key_is_explained() -> None:
    assert keys(Snapshot) <= TABLE.keys()
    assert keys(SnapshotProcessor) - {"id"} <= TABLE.keys()
    assert keys(SnapshotVersion) - {"version"} <= TABLE.keys()
    assert keys(SnapshotRollout) <= words(TABLE["rollouts"]) | {"id"}
    assert keys(SnapshotSnooze) <= words(TABLE["snoozes"])
    told = words(TABLE["lists"])
    assert keys(SnapshotList) | keys(SnapshotListVersion) <= told | {"version"}


def test_what_a_definition_holds_is_what_decides() -> None:
    told = words(TABLE["definition"]) & keys(ProcessorContent)
    assert told == set(ProcessorContent.model_fields)
