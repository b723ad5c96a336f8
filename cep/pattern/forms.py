"""What every pattern has, made of steps or a clause: names, checks, code, and how it is written.

    document · YAML · JSON · SQL · printed text ⇄ form: PatternTree | Query

`cep.pattern.builder` adds the calls that make one step by step.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

from cep.expression import Schema
from cep.expression.lists import ValueList
from cep.expression.parameters import Parameter
from cep.pattern import code, row_patterns
from cep.pattern.conditions import list_names, with_list_values
from cep.pattern.document import reading, writing
from cep.pattern.document.text import SourceDocument, read_json_text, read_yaml_text
from cep.pattern.printed import reading as printed_reading
from cep.pattern.printed import writing as printed_writing
from cep.pattern.problems import PatternError, Problem
from cep.pattern.tree import AfterMatchSkip, PatternTree
from cep.pattern.validation.validate import problems, warnings
from cep.row_pattern.clause import Query
from cep.row_pattern.writing import write_query
from cep.signing.code import CodePlace
from cep.signing.keys import SigningKeys


@dataclass(frozen=True, slots=True, repr=False)
class AnyPattern:
    """A pattern by its form, whichever language it is in; equal to another of an equal form."""

    form: PatternTree | Query

    @property
    def tree(self) -> PatternTree:
        """The tree of a pattern of steps.

        Raises:
            PatternError: it is a MATCH_RECOGNIZE clause, which has no steps.
        """
        if isinstance(self.form, Query):
            message = "this is a MATCH_RECOGNIZE clause, which is not made of steps."
            raise PatternError([Problem("", message, "Change the text of the clause.")])
        return self.form

    @property
    def query(self) -> Query | None:
        """The MATCH_RECOGNIZE clause; `None` for a pattern of steps."""
        return self.form if isinstance(self.form, Query) else None

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns of PARTITION BY of a clause; a pattern of steps has none."""
        return () if self.query is None else row_patterns.partition_columns(self.query)

    @property
    def step_names(self) -> tuple[str, ...]:
        """The names that the events of a match go by: of steps, or of variables."""
        if self.query is not None:
            return row_patterns.variables(self.query)
        return tuple(step.name for step in self.tree.steps())

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that are declared, with their values."""
        return self.form.parameters

    @property
    def list_names(self) -> tuple[str, ...]:
        """The lists of the stream that its conditions name, in order of name."""
        return list_names(self.form)

    def with_lists(self, lists: tuple[ValueList, ...]) -> Self:
        """Return the pattern with the values of lists that it names, to run it on any events.

        A schema with lists does the same if the columns of the events are known.
        """
        return type(self)(with_list_values(self.form, lists))

    # --- checking

    def validate(self, schema: Schema | None = None) -> Self:
        """Return the pattern itself once nothing is wrong with it; a schema checks columns, too.

        Raises:
            PatternError: a condition makes no sense, or Flink would refuse the pattern or,
                without `flink_quirks`, mangle it.
        """
        if self.query is not None:
            found = row_patterns.row_pattern_problems(self.query, schema)
        else:
            found = problems(self.tree, schema)
        if found:
            raise PatternError(found)
        return self

    def warnings(self) -> tuple[Problem, ...]:
        """Return what is allowed but rarely meant, such as a state that grows without limit."""
        if self.query is not None:
            return row_patterns.row_pattern_warnings(self.query)
        return warnings(self.tree)

    # --- Python code

    def sign_code(
        self, keys: SigningKeys, modules: Sequence[ModuleType] = (), place: CodePlace | None = None
    ) -> Self:
        """Return the pattern with its Python callables signed, so that it can be a document.

        Args:
            keys: the newest signs.
            modules: modules the callables use that their readers do not have; they travel, too.
            place: the rule the pattern is of, which alone will accept it; `None` = any.

        Raises:
            PatternError: a callable cannot be pickled, is too large, or the key wants a place.
        """
        if self.query is not None:
            return self
        return type(self)(code.signed(self.tree, keys, modules, place))

    def load_code(self, keys: SigningKeys | None, place: CodePlace | None = None) -> Self:
        """Return the pattern with its signed code verified and loaded, so that it can run.

        Args:
            keys: one of them must have signed it.
            place: the rule the pattern is of; code for one rule is loaded for that only.

        Raises:
            PatternError: code is refused: signed with no key of these or for another rule, changed,
                of another Python.
        """
        if self.query is not None:
            return self
        return type(self)(code.load_code(self.tree, keys, place))

    # --- other forms

    @classmethod
    def from_sql(cls, text: str, *, schema: Schema | None = None) -> Self:
        """Return the pattern that a MATCH_RECOGNIZE clause describes, validated.

        Args:
            text: the clause, or `SELECT * FROM stream MATCH_RECOGNIZE (...)`.
            schema: the columns of an event, which the clause must fit; `None` if unknown.

        Raises:
            PatternError: with every problem of the clause, each with line and column.
        """
        return cls(row_patterns.read_row_pattern(text)).validate(schema)

    @classmethod
    def from_document(
        cls,
        document: Mapping[str, Any],
        *,
        schema: Schema | None = None,
        flink_quirks: bool | None = None,
    ) -> Self:
        """Return the pattern a document describes, validated.

        Args:
            document: a parsed JSON or YAML document.
            schema: the columns of an event, which conditions must fit; `None` if unknown.
            flink_quirks: overrides the key of that name in the document.

        Raises:
            PatternError: with every problem of the document.
        """
        source = SourceDocument(document)
        return cls(reading.read_document(source, schema=schema, flink_quirks=flink_quirks))

    @classmethod
    def from_yaml(cls, text: str, *, flink_quirks: bool | None = None) -> Self:
        """Return the pattern a YAML document describes, validated.

        Raises:
            PatternError: with every problem of the document, each with line and column.
        """
        source = read_yaml_text(reading.checked_text(text))
        return cls(reading.read_document(source, flink_quirks=flink_quirks))

    @classmethod
    def from_json(cls, text: str, *, flink_quirks: bool | None = None) -> Self:
        """Return the pattern a JSON document describes, validated.

        Raises:
            PatternError: with every problem of the document, each with line and column.
        """
        source = read_json_text(reading.checked_text(text))
        return cls(reading.read_document(source, flink_quirks=flink_quirks))

    def to_document(self) -> dict[str, Any]:
        """Return the document of this pattern; `from_document` makes an equal pattern of it.

        Raises:
            PatternError: the pattern holds Python code that is not signed.
        """
        return writing.document_of(self.form)

    def to_yaml(self) -> str:
        """Return the document of this pattern as YAML.

        Raises:
            PatternError: the pattern holds Python code that is not signed.
        """
        return writing.yaml_of(self.form)

    def to_json(self) -> str:
        """Return the document of this pattern as indented JSON.

        Raises:
            PatternError: the pattern holds Python code that is not signed.
        """
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the pattern that `str(pattern)` printed.

        Nothing is evaluated: the text is read as a clause, or as a chain of known calls with
        literal arguments.

        Raises:
            PatternError: it is no such chain, or a call refuses; with line and column.
        """
        if text.lstrip()[:6].upper() in {"MATCH_", "SELECT"}:
            return cls.from_sql(text)
        roots = {"Pattern": cls, "AfterMatchSkip": AfterMatchSkip}
        pattern: Self = printed_reading.built(printed_reading.read_chain(text), roots)
        return pattern

    def __str__(self) -> str:
        if self.query is not None:
            return write_query(self.query)
        return printed_writing.printed(self.tree)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        language = "python" if self.query is None else "sql"
        return f"~~~{language}\n{self}\n~~~"
