"""The part of a draft that decides what is found, as it is sent to a worker and read there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.definition.keys import written_key
from cep.events.order import EventTime
from cep.expression import Schema
from cep.pattern import Pattern
from cep.trials.lists import WrittenList, read_lists


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule that has been checked, as data: plain values that JSON can hold.

    `definition` has the keys `pattern`, `key_by` and `select` of a document; `schema` is the DDL of
    its stream, `None` if its columns are not known; `time` orders its events; `lists` are those of
    the stream that it names.
    """

    definition: dict[str, Any]
    schema: str | None
    time: EventTime
    lists: tuple[WrittenList, ...] = ()

    @classmethod
    def of_json(cls, written: Mapping[str, Any]) -> "WrittenRule":
        """Return the rule in what JSON has made of one."""
        lists = tuple(WrittenList(**each) for each in written.get("lists", ()))
        return cls(**{**written, "time": EventTime.of_json(written["time"]), "lists": lists})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that can be run."""

    content: ProcessorContent
    pattern: Pattern
    schema: Schema | None
    time: EventTime


def read_rule(written: WrittenRule) -> Rule:
    """Return the rule that is written there.

    Raises:
        ValueError: it is not one that has been checked.
    """
    schema, lists = None, read_lists(written.lists)
    if written.schema is not None:
        schema = Schema.from_ddl(written.schema, lists)
    checked = check_definition(written.definition, schema, ProcessorContent)
    if checked.content is None or checked.pattern is None or checked.problems:
        raise ValueError("the rule was not checked before it was sent")
    key_by = written_key(checked.content.key_by, checked.pattern)
    content = checked.content.model_copy(update={"key_by": key_by})
    # Without columns there is no schema to bring the lists with.
    pattern = checked.pattern.with_lists(lists) if schema is None else checked.pattern
    return Rule(content, pattern, schema, written.time)
