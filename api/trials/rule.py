"""The part of a draft that decides what is found, as it is sent to a worker and read there."""

from dataclasses import dataclass
from typing import Any

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.definition.keys import written_key
from cep.expression import Schema
from cep.pattern import Pattern


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule that has been checked, as data: plain values that JSON can hold.

    `definition` has the keys `pattern`, `key_by` and `select` of a document; `schema` is the DDL of
    its stream, `None` if its columns are not known.
    """

    definition: dict[str, Any]
    schema: str | None
    event_time_column: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that can be run."""

    content: ProcessorContent
    pattern: Pattern
    schema: Schema | None
    event_time_column: str


def read_rule(written: WrittenRule) -> Rule:
    """Return the rule that is written there.

    Raises:
        ValueError: it is not one that has been checked.
    """
    schema = None if written.schema is None else Schema.from_ddl(written.schema)
    checked = check_definition(written.definition, schema, ProcessorContent)
    if checked.content is None or checked.pattern is None or checked.problems:
        raise ValueError("the rule was not checked before it was sent")
    key_by = written_key(checked.content.key_by, checked.pattern)
    content = checked.content.model_copy(update={"key_by": key_by})
    return Rule(content, checked.pattern, schema, written.event_time_column)
