"""`percept explain`: what a pattern is, in either language, on the terminal.

rule, pattern document or SQL ──► text, state graph (DOT, SVG), JSON, or the other language
"""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from cep.definition.one_rule import RuleRefused, rule_of_text
from cep.executors.choice import choices_of, interpreted_rules
from cep.explain.dot import dot
from cep.explain.explanation import Source, as_pattern, as_sql, explained, normalised, states_of
from cep.explain.svg import svg
from cep.expression import ExpressionError, Schema
from cep.file_trouble import file_trouble
from cep.keyed.matcher import KeyedMatcher
from cep.nfa.errors import LimitExceeded
from cep.pattern import Pattern, PatternError
from cep.pattern.code import signed_codes
from cep.printable import printable
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.parsing.clauses import begins_query, read_query
from cep.translation.refusals import NotExact


class Form(StrEnum):
    """How a pattern is told."""

    TEXT = "text"
    DOT = "dot"
    SVG = "svg"
    JSON = "json"
    SQL = "sql"
    PATTERN = "pattern"


def explain(  # noqa: PLR0913 - the options of one command
    source: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="Rule or pattern (YAML or JSON), file of SQL, or the SQL itself; - = stdin.",
        ),
    ],
    *,
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="text: in its own language, one layout. dot, svg: its state graph. json: all of "
            "it. sql, pattern: in that language, where it finds exactly the same.",
        ),
    ] = Form.TEXT,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            "-k",
            help="Column of the key, for PARTITION BY; may be repeated. Default: that of the rule.",
        ),
    ] = None,
    rule_id: Annotated[
        str | None, typer.Option("--rule", help="Which rule, if the file holds several.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            "-t",
            help="Column of the event time, for ORDER BY. Default: that of the rule's stream, if "
            "its document is in the file or beside it, else ts.",
        ),
    ] = None,
    flink_quirks: Annotated[
        bool, typer.Option("--flink-quirks", help="Accept what Flink accepts and mangles.")
    ] = False,
) -> None:
    """Tell what PATTERN is: as text, as a graph of its states, in the other language.

    Of a whole rule, its pattern is told; its key and time are those of the translation. With text,
    a line on standard error says whether a job runs it in compiled code or in Python, and why.

    Exit code 0 = told, 1 = the other language has no pattern that finds exactly the same, 2 = the
    pattern is not usable.
    """
    name, text = _read(source)
    try:
        if begins_query(text):
            pattern, keys, stream = _query(text), key or [], None
        else:
            rule = rule_of_text(text, source, rule_id=rule_id, flink_quirks=flink_quirks)
            pattern, keys = rule.pattern.form, key or list(rule.key_by)
            stream = rule.stream(Path(source))
        own_time = None if stream is None else stream.time.column
        typer.echo(_written(pattern, form, keys, time or own_time or "ts").rstrip("\n"))
        if form is Form.TEXT:
            typer.echo(_executor_text(pattern, None if stream is None else stream.schema), err=True)
    except RuleRefused as error:
        _fail(f"{error}")
    except NotExact as refusal:
        hint = f"\n{refusal.hint}" if refusal.hint else ""
        _fail(f"{name}: not the same in {form.value}: {refusal.reason}.{hint}", code=1)
    except (ExpressionError, PatternError, LimitExceeded) as error:
        _fail(f"{name}: {error}")


def _read(source: str) -> tuple[str, str]:
    """Return how a source is called in messages, and its text."""
    if begins_query(source):
        return "SQL", source
    if source == "-":
        return "standard input", sys.stdin.read()
    try:
        return source, Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _fail(
            f"cannot read the pattern {source}: {file_trouble(error)}.\n"
            "Give a file, or SQL that begins with MATCH_RECOGNIZE or SELECT."
        )


def _query(text: str) -> Source:
    query = read_query(text)
    analyse(query.clause, None)
    return query


def _written(source: Source, form: Form, key: list[str], time: str) -> str:
    match form:
        case Form.TEXT:
            return normalised(source)
        case Form.DOT:
            return dot(states_of(source))
        case Form.SVG:
            return svg(states_of(source))
        case Form.JSON:
            drawn = explained(source, key_by=key, time_column=time)
            return json.dumps(drawn, indent=2, ensure_ascii=False)
        case Form.SQL:
            return as_sql(source, key_by=key, time_column=time)
        case Form.PATTERN:
            return as_pattern(source)


def _executor_text(source: Source, schema: Schema | None) -> str:
    """Return what moves the partial matches of a pattern in a job, in a sentence."""
    if any(signed_codes(source)):  # which is not loaded here
        return "Runs in Python: a condition that calls Python."
    matcher = KeyedMatcher({"": Pattern(source)}, schema=schema)
    reasons = interpreted_rules(choices_of(matcher.shapes))
    return f"Runs in Python: {reasons['']}." if reasons else "Runs in compiled code."


def _fail(message: str, *, code: int = 2) -> NoReturn:
    typer.echo(f"percept explain: {printable(message)}", err=True)
    raise typer.Exit(code)
