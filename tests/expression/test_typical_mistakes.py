"""What people write who come from other languages, each with the answer that mends it."""

import pytest

from cep.expression import Schema
from cep.pattern import Pattern, PatternError

SCHEMA = Schema.from_ddl(
    "user STRING, action STRING, x INT, a INT, b INT, at TIMESTAMP, day DATE, ok BOOLEAN, "
    "tags ARRAY<STRING>, geo STRUCT<lat: DOUBLE>"
)
CONDITIONS = {
    "action > 3": "Write the text in quotes: '3', or cast: CAST(... AS DOUBLE)",
    "x = '3'": "Write the number without quotes: 3",
    "action > x": "Cast the text: CAST(... AS DOUBLE)",
    "NOW() > at": "must find the same in a replay; compare event times",
    "at > CURRENT_TIMESTAMP": "must find the same in a replay; compare event times",
    "RAND() > 0.5": "nothing is random",
    "a = 1 && b = 2": "&& is no operator of SQL. Write AND",
    "a = 1 || b = 2": "between conditions write OR, since || joins texts",
    "x === 1": "=== is no operator of SQL. Write =",
    "x !== 1": "!== is no operator of SQL. Write <>",
    "x eq 1": "eq is no operator of SQL. Write =",
    "x gt 1": "gt is no operator of SQL. Write >",
    "user =~ 'a'": "Write RLIKE: user RLIKE '^a'",
    "user matches 'a'": "Write RLIKE: user RLIKE '^a'",
    "user contains 'a'": "Write CONTAINS(user, 'a')",
    "user startswith 'a'": "Write STARTSWITH(user, 'a')",
    "user.startswith('a')": "values have no methods. Write STARTSWITH(value, ...)",
    "'a' in user": "whether a text has another in it is CONTAINS(user, 'a')",
    "x ? 1 : 2": "Write CASE WHEN ... THEN ... ELSE ... END",
    "a ?? b": "Write COALESCE(a, b)",
    "ISNULL(user)": "Write user IS NULL",
    "TO_TIMESTAMP(user) > at": "Write CAST(... AS TIMESTAMP)",
    "usr = 'a'": "Did you mean user?",
    "lenght(user) > 3": "Did you mean LENGTH",
    'user = "a"': "write 'a' for a text, `a` for a column",
    "x = None": "Write IS NULL",
    "x is not None": "IS NOT NULL",
    "x is 1": "Write = to compare",
    "x = NaN": "Write CAST('NaN' AS DOUBLE)",
    "action = fail": "A text stands in quotes: 'fail'",
    "user = \u201ca\u201d": "Quotes are straight",
    "user = 'it's'": "a quote inside a text is doubled",
    "user = 'a' OR 'b'": "x IN ('a', 'b')",
    "1 < x < 5": "1 < x AND x < 5",
    "ok = 'true'": "Compare it with TRUE or FALSE",
    "x ** 2 > 4": "Write a product for a power: x * x",
    "x ^ 2 > 4": "Write a product for a power: x * x",
    "POWER(x, 2) > 4": "Write a product for a power: x * x",
    "x // 2 = 1": "Write FLOOR(a / b)",
    "x => 1": "Write >=",
    "x =< 1": "Write <=",
    "a = 1 | b = 2": "Write OR",
    "a = 1 & b = 2": "Write AND",
    "a = 1, b = 2": "Write AND between conditions",
    "x > 1,000": "a number without separators: 1000",
    "x > 1_000": "A number has digits alone: 1000",
    "x > 10k": "A number has digits alone: 1000",
    "x > 0x1F": "in decimal digits",
    "x equals 1": "Write =",
    "x is greater than 1": "Write >",
    "(x = 1))": "It closes no bracket",
    "where x = 1": "A condition stands alone",
    "x = 1 ORDER BY x": "A condition stands alone",
    "lambda e: e.x > 1": "A condition stands alone",
    "if x > 1 then 1": "Write CASE WHEN",
    "event.x > 1": "Write x alone",
    "${x} > 1": "Write the name of the column alone",
    "@x > 1": "Write the name of the column alone",
    "user:a": "Write user = 'a'",
    "user ilike '%a%'": "Write LOWER(user) LIKE",
    "user similar to 'a'": "Write RLIKE",
    "user starts with 'a'": "Write STARTSWITH(user, 'a')",
    "match(user, '^a')": "Write user RLIKE '^a'",
    "wildcard(user, 'a*')": "Write user LIKE 'a%'",
    "cidrMatch('10.0.0.0/8', user)": "STARTSWITH(ip, '10.')",
    "INSTR(user, 'a') > 0": "Write CONTAINS(user, 'a')",
    "LEFT(user, 2) = 'ab'": "Write SUBSTRING(user, 1, 2)",
    "SPLIT(user, '.') = 'a'": "with LIKE or RLIKE",
    "user.length > 3": "Write LENGTH(user)",
    "at.hour > 3": "Write HOUR(at)",
    "user.name = 'a'": "It has no fields",
    "tags[0] = 'a'": "ARRAY_CONTAINS(array, value)",
    "'a' = ANY(tags)": "Write ARRAY_CONTAINS(array, value)",
    "geo['lat'] > 1": "Write struct.field",
    "geo->lat > 1": "behind a point: geo.lat",
    "json_extract(user, '$.a') = 'b'": "Declare a STRUCT",
    "DATEDIFF(at, at) > 1": "Subtract times",
    "EXTRACT(EPOCH FROM at) > 3": "Subtract times",
    "DATE_ADD(at, 1) > at": "Write at + INTERVAL '1' DAY",
    "DATE_TRUNC('day', at) = day": "Write CAST(... AS DATE)",
    "at - at > 10": "Write INTERVAL '10' SECOND",
    "at > 1700000000": "Write TIMESTAMP '2024-01-31'",
    "day = 2026-01-01": "Write DATE '2024-01-31'",
    "int(user) = 1": "Write CAST(... AS BIGINT)",
    "is_null(user)": "Write user IS NULL",
    "GREATEST(a, b) > 1": "Write CASE WHEN a > b",
    "LAG(x) > 1": "LAST(step.field)",
    "SUM(x) OVER (ORDER BY at) > 1": "SUM(step.field)",
    "ROW_NUMBER() > 1": "COUNT(step.*)",
    "COUNT(*) > 3": "Write COUNT(step.*)",
    "TRIM(user, 'a') = 'b'": "TRIM takes 1 argument, not 2",
    "x = 1;": "Remove the semicolon",
    "x = 1 -- one": "comments are not allowed",
    "SELECT x": "SELECT is not part of the language",
    "user = 'a": "a quote is never closed",
    "": "the expression is empty",
}
ACCEPTED = {
    "user LIKE '*a*'": "The wildcards of LIKE are % for any text and _",
    "x = 1 OR user LIKE 'a.*'": "The wildcards of LIKE are % for any text and _",
    "user RLIKE '%a%'": "RLIKE finds its pattern anywhere",
    "user = NULL": "Write IS NULL or IS NOT NULL",
    "x = 1 OR user <> NULL": "Write IS NULL or IS NOT NULL",
    "NOT NULL = user": "Write IS NULL or IS NOT NULL",
}
"""Conditions that are SQL, and warned of."""
DOCUMENTS = {
    "steps: [{name: a, times: 5+}]": "{from: 5, to: null} for 5 or more",
    "steps: [{name: a, times: at least 5}]": "{from: 5, to: null} for 5 or more",
    "steps: [{name: a, times: {min: 5}}]": "{from: 5, to: null} for 5 or more",
    "steps: [{name: a, times: {from: 1, max: 5}}]": "{from: 0, to: 5} for 5 or fewer",
    "steps: [{name: a}, {name: b, not: true}]": "`contiguity: not_followed_by`, or `not_next`",
    "steps: [{name: a}, {name: b, follows: a}]": "`contiguity: next`, `followed_by`",
    "steps: [{name: a, condition: x = 1}]": "Write `where`",
    "steps: [{name: a, one_or_more: true}]": "`times: {from: 1, to: null}`",
    "{steps: [{name: a}], window: 5 minutes}": "Write `within: 10 minutes`",
    "{steps: [{name: a}], key_by: user}": "A rule has this beside its pattern",
    "{steps: [{name: a}], skip: past_last}": "`after_match_skip`",
    "steps: [{name: a, where: [x = 1, y = 2]}]": "Write one text: x = 1 AND y = 2",
    "steps: [{name: a, where: {x: 1}}]": "Write one text: x = 1 AND y = 2",
    "steps: [{name: a, oneOrMore: true}]": "`times: {from: 1, to: null}`",
    "steps: [{name: a}, {name: b, contiguity: strict}]": "Write next",
    "steps: [{name: a}, {name: b, contiguity: relaxed}]": "Write followed_by",
    "steps: [{name: a}, {name: b, contiguity: skip_till_any}]": "Write followed_by_any",
    "steps: [{name: a}, {name: b, type: followed_by}]": "`contiguity: next`, `followed_by`",
    "steps: [{id: a}]": "Write `name`",
    "steps: [{name: a, steps: [{name: b}]}]": "`group: {steps: [...]}`",
    "rules/r.yaml": "what a file holds, beginning with `steps:`, and not its path",
    "steps: a": "Write `steps:` and below it a list",
    "[{name: a}]": "Write `steps:` and below it a list",
    "{pattern: {steps: [{name: a}]}}": "a pattern begins with `steps`",
    "{sequence: [{name: a}]}": "Write `steps`",
    "{sql: 'MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS x = 1)'}": "Write `match_recognize`",
    "{steps: [{name: a}], select: {x: a.x}}": "A rule has this beside its pattern",
    "{steps: [{name: a}], order_by: ts}": "A stream has this",
    "{steps: [{name: a}], within: 10}": "Write '10 minutes'",
    "{steps: [{name: a}], within: 1 month}": "Write it in days",
    "{steps: [{name: a}], after_match_skip: no_skip}": "{strategy: skip_past_last_event}",
    "steps: - name: a": "Begin a list on a line of its own",
    "steps:\n\t- name: a": "Indent with spaces, not with tabs",
    "steps:\n  - name: a\n  where: x = 1": "Indent the keys of an item as its first key",
    "steps:\n  - name: a\n    where: user: bob": "Put a text with ': ' in quotes",
    "steps:\n  - name: a\n    where: 'a' = x": "put a text with quotes in quotes, whole",
    "steps:\n  - name: a\n    where: %x% = 1": "Put the text in quotes",
    "steps:\n  - name: a\n    where: 'x = 1": "Close the quote",
    "step: [{name: a}]": "Did you mean 'steps'?",
    "steps: [{nam: a}]": "Did you mean 'name'?",
    "steps: {name: a}": "Write `steps:` and below it a list",
}


def test_each_mistake_in_a_condition_is_told_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in CONDITIONS.items():
        with pytest.raises(PatternError) as refusal:
            Pattern.begin("a").where(text).validate(SCHEMA)
        if remedy.lower() not in str(refusal.value).lower():
            wrong[text] = str(refusal.value)
    assert wrong == {}


def test_each_condition_that_is_rarely_meant_is_warned_of_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in ACCEPTED.items():
        clause = f"MATCH_RECOGNIZE (ORDER BY at MEASURES A.x AS x PATTERN (A) DEFINE A AS {text})"
        for pattern in (Pattern.begin("a").where(text), Pattern.from_sql(clause)):
            told = [str(warning) for warning in pattern.validate(SCHEMA).warnings()]
            if not any(remedy in each for each in told):
                wrong[text] = told
    assert wrong == {}


@pytest.mark.parametrize("text", ["LIKE '%a*'", "LIKE '5*_'", "RLIKE '5%'", "IS NULL"])
def test_what_is_meant_is_not_warned_of(text: str) -> None:
    assert not Pattern.begin("a").where(f"user {text}").warnings()


def test_each_mistake_in_a_document_is_told_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in DOCUMENTS.items():
        with pytest.raises(PatternError) as refusal:
            Pattern.from_yaml(text)
        if remedy.lower() not in str(refusal.value).lower():
            wrong[text] = str(refusal.value)
    assert wrong == {}
