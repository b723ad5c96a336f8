"""What people write who come from other languages, each with the answer that mends it."""

import pytest

from cep.expression import Schema
from cep.pattern import Pattern, PatternError

SCHEMA = Schema.from_ddl("user STRING, action STRING, x INT, a INT, b INT, at TIMESTAMP")
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
    "x = 1;": "Remove the semicolon",
    "x = 1 -- one": "comments are not allowed",
    "SELECT x": "SELECT is not part of the language",
    "user = 'a": "a quote is never closed",
    "": "the expression is empty",
}
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
    "step: [{name: a}]": "Did you mean 'steps'?",
    "steps: [{nam: a}]": "Did you mean 'name'?",
    "steps: {name: a}": "Write a list",
}


def test_each_mistake_in_a_condition_is_told_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in CONDITIONS.items():
        with pytest.raises(PatternError) as refusal:
            Pattern.begin("a").where(text).validate(SCHEMA)
        if remedy.lower() not in str(refusal.value).lower():
            wrong[text] = str(refusal.value)
    assert wrong == {}


def test_each_mistake_in_a_document_is_told_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in DOCUMENTS.items():
        with pytest.raises(PatternError) as refusal:
            Pattern.from_yaml(text)
        if remedy.lower() not in str(refusal.value).lower():
            wrong[text] = str(refusal.value)
    assert wrong == {}
