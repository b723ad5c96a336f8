"""Clause → its normalised text: one layout, defaults spoken out, comments gone.

    Query ──► text ──parsing──► an equal Query

Names stay as they are written and in quotes if they were; expressions keep their words, with the
keywords in upper case and one kind of spacing.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cep.row_pattern.clause import (
    Alternation,
    Clause,
    Concatenation,
    Exclusion,
    Name,
    Ordering,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Query,
    Repetition,
    RowPattern,
    Scalar,
    Skip,
    SkipTo,
    Variable,
)
from cep.row_pattern.parsing.clauses import UNITS_MS
from cep.row_pattern.parsing.words import Kind, Word, words_of

_INDENT: Final = "  "
_WIDTH: Final = 88
_OPERATOR_WORDS: Final = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "LIKE", "RLIKE", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE"}
    | {"END", "NULL", "TRUE", "FALSE", "DISTINCT", "FROM", "AS", "ESCAPE", "INTERVAL"}
    | {"RUNNING", "FINAL"}
)
_VALUE_WORDS: Final = frozenset({"NULL", "TRUE", "FALSE", "END"})
_CLOSING: Final = frozenset({")", "]", ",", "."})
_NO_PART: Final = frozenset({"+", "-", "*", "/", "%", "(", ")", "[", "]", ","})
_SIGNS: Final = frozenset({"+", "-", "*", "/", "%"})


def write_query(query: Query) -> str:
    """Return a query, or the clause alone, as lines of text that read as an equal query."""
    clause = written_clause(query.clause)
    if query.source is None:
        return clause
    selected = "*"
    if query.columns is not None:
        selected = ", ".join(
            name_text(column) if column == name else f"{name_text(column)} AS {name_text(name)}"
            for column, name in query.columns
        )
    return f"SELECT {selected}\nFROM {name_text(query.source)} {clause}"


def written_clause(clause: Clause) -> str:
    """Return `MATCH_RECOGNIZE (...)` with a line for each part."""
    lines = "".join(f"{_INDENT}{line}\n" for part in _parts(clause) for line in part.split("\n"))
    return f"MATCH_RECOGNIZE (\n{lines})"


def _parts(clause: Clause) -> Iterator[str]:
    if clause.partition_by:
        yield f"PARTITION BY {', '.join(map(name_text, clause.partition_by))}"
    if clause.order_by:
        yield f"ORDER BY {', '.join(map(_ordering, clause.order_by))}"
    if clause.measures:
        items = [f"{scalar_text(m.expression)} AS {name_text(m.name)}" for m in clause.measures]
        yield _listed("MEASURES", items)
    yield clause.rows_per_match.value
    yield f"AFTER MATCH SKIP {_skip(clause.skip)}"
    within = "" if clause.within_ms is None else f" WITHIN {interval_text(clause.within_ms)}"
    yield f"PATTERN ({_filled(clause.pattern)}){within}"
    if clause.subsets:
        subsets = (
            f"{name_text(s.name)} = ({', '.join(map(name_text, s.members))})"
            for s in clause.subsets
        )
        yield _listed("SUBSET", list(subsets))
    definitions = clause.definitions
    yield _listed(
        "DEFINE", [f"{name_text(d.variable)} AS {scalar_text(d.condition)}" for d in definitions]
    )


def _listed(keyword: str, items: Sequence[str]) -> str:
    return f"{keyword}\n{_INDENT}" + f",\n{_INDENT}".join(items)


def _ordering(ordering: Ordering) -> str:
    return name_text(ordering.column) + (" DESC" if ordering.is_descending else "")


def _skip(skip: Skip) -> str:
    if skip.variable is None or skip.to in {SkipTo.PAST_LAST_ROW, SkipTo.NEXT_ROW}:
        return skip.to.value
    return f"{skip.to.value} {name_text(skip.variable)}"


def interval_text(duration_ms: int) -> str:
    """Return a duration in the largest unit of which it is a whole number of times."""
    units = reversed(UNITS_MS.items())
    unit, length = next((unit, length) for unit, length in units if not duration_ms % length)
    return f"INTERVAL '{duration_ms // length}' {unit}"


def name_text(name: Name) -> str:
    """Return an identifier, in double quotes if it is exact."""
    if not name.is_quoted:
        return name.text
    escaped = name.text.replace('"', '""')
    return f'"{escaped}"'


# Row patterns


def pattern_text(  # noqa: PLR0911 - one line per kind of pattern
    pattern: RowPattern,
) -> str:
    """Return a row pattern on one line, with no more brackets than it needs."""
    match pattern:
        case Alternation(alternatives=alternatives):
            return " | ".join(_inside(part, Alternation) for part in alternatives)
        case Concatenation(parts=()):
            return "()"
        case Concatenation(parts=parts):
            return " ".join(_inside(part, Alternation, Concatenation) for part in parts)
        case Repetition(inner=inner):
            base = _inside(inner, Alternation, Concatenation, Repetition)
            return f"{base}{quantifier_text(pattern)}"
        case Permutation(parts=parts):
            return f"PERMUTE({', '.join(map(pattern_text, parts))})"
        case Exclusion(inner=inner):
            return f"{{- {pattern_text(inner)} -}}"
        case Variable(name=name):
            return name_text(name)
        case PartitionStart():
            return "^"
        case PartitionEnd():
            return "$"


def _inside(part: RowPattern, *bracketed: type[RowPattern]) -> str:
    text = pattern_text(part)
    return f"({text})" if isinstance(part, bracketed) and text != "()" else text


def quantifier_text(repetition: Repetition) -> str:
    """Return the quantifier of a repetition as it is written after it, `*` or `{2,3}?`."""
    match repetition.minimum, repetition.maximum:
        case 0, None:
            text = "*"
        case 1, None:
            text = "+"
        case 0, 1:
            text = "?"
        case minimum, None:
            text = f"{{{minimum},}}"
        case minimum, maximum if minimum == maximum:
            text = f"{{{minimum}}}"
        case minimum, maximum:
            text = f"{{{minimum},{maximum}}}"
    return f"{text}?" if repetition.is_reluctant else text


def _filled(pattern: RowPattern) -> str:
    """Return the pattern, broken between its uppermost parts where it is long."""
    text = pattern_text(pattern)
    if len(text) <= _WIDTH:
        return text
    match pattern:
        case Alternation(alternatives=alternatives):
            items = [_inside(part, Alternation) for part in alternatives]
            items = [items[0], *(f"| {item}" for item in items[1:])]
        case Concatenation(parts=parts) if parts:
            items = [_inside(part, Alternation, Concatenation) for part in parts]
        case _:
            return text
    lines = [""]
    for item in items:
        longer = f"{lines[-1]} {item}".strip()
        if len(longer) <= _WIDTH or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(item)
    return f"\n{_INDENT}" + f"\n{_INDENT}".join(lines) + "\n"


# Expressions


def scalar_text(scalar: Scalar) -> str:
    """Return an expression on one line: keywords and calls in upper case, comments gone."""
    words = words_of(scalar.text)
    text, is_operand = "", False
    for before, word, behind in zip([None, *words], words, words[1:], strict=False):
        text += _spelled(before, word, behind)
        was_operand, is_operand = is_operand, _is_operand(before, word)
        text += _space(word, behind, is_sign=word.text in _SIGNS and not was_operand)
    return text


def _spelled(before: Word | None, word: Word, behind: Word) -> str:
    is_field = before is not None and before.is_symbol(".")
    is_call = behind.text in {"(", "["}
    if word.keyword and not is_field and (is_call or word.keyword in _OPERATOR_WORDS):
        return word.keyword
    if word.kind is Kind.QUOTED_NAME and '"' not in word.text[1:-1]:
        return name_text(word.name())
    return word.text


def _is_operand(before: Word | None, word: Word) -> bool:
    """Return whether an operator after this word has a left side."""
    if word.keyword in _OPERATOR_WORDS and not (before is not None and before.is_symbol(".")):
        return word.keyword in _VALUE_WORDS
    return word.kind is not Kind.SYMBOL or word.text in {")", "]"}


def _space(word: Word, behind: Word, *, is_sign: bool) -> str:
    """Return what stands between two words; `is_sign`: the first is a sign, not an operator."""
    touch = word.end == behind.start
    if behind.kind is Kind.END or behind.text in _CLOSING or word.text in {"(", "[", "."}:
        return ""
    if behind.text in {"(", "["}:
        is_keyword = word.keyword in _OPERATOR_WORDS or word.kind is Kind.SYMBOL
        return " " if is_keyword and not is_sign else ""
    if is_sign:
        return "" if behind.text not in _SIGNS else " "
    # 5L, r'...' and operators of several characters are several words here, and one there.
    is_one = word.kind in {Kind.NUMBER, Kind.NAME} and behind.kind in {Kind.NAME, Kind.TEXT}
    is_one |= word.kind is behind.kind is Kind.SYMBOL and not {word.text, behind.text} & _NO_PART
    return "" if touch and is_one else " "
