"""The printed form: reads well, is read back with nothing evaluated."""

import pytest

from cep.pattern import AfterMatchSkip, Pattern, PatternError
from cep.pattern.validation.size_limits import MAXIMUM_STEPS

LONG = (
    Pattern.begin("fail")
    .where("action = 'fail'")
    .times(3)
    .followed_by(
        Pattern.begin("pay").where("action = 'pay' AND amount > 9").next("check").optional()
    )
    .one_or_more()
    .next(Pattern.begin("x"))
    .times(2, 3, within=5)
    .followed_by("login")
    .where("action = 'login' AND user = LAST(fail.user)")
    .within(5, "previous_and_current")
    .within("10 minutes")
    .after_match(AfterMatchSkip.to_last("fail", throw_on_miss=True))
    .flink_quirks()
)


def test_a_short_pattern_is_one_line() -> None:
    pattern = Pattern.begin("a").where("x = 'y'").next("b").one_or_more().greedy().within("1 h")
    assert str(pattern) == (
        'Pattern.begin("a").where("x = \'y\'").next("b").one_or_more().greedy().within("1 hour")'
    )


def test_a_long_pattern_has_a_line_for_every_step() -> None:
    assert str(LONG) == (
        """\
Pattern.begin("fail").where("action = 'fail'").times(3)
  .followed_by(
    Pattern.begin("pay").where("action = 'pay' AND amount > 9").next("check").optional()
  ).one_or_more()
  .next(Pattern.begin("x")).times(2, 3, within="5 milliseconds")
  .followed_by("login").where("action = 'login' AND user = LAST(fail.user)")
  .within("10 minutes")
  .within("5 milliseconds", "previous_and_current")
  .after_match(AfterMatchSkip.to_last("fail", throw_on_miss=True))
  .flink_quirks()"""
    )
    assert Pattern.parse(str(LONG)) == LONG


def test_what_people_write_themselves_is_read_too() -> None:
    text = (
        "(Pattern.begin('a', skip=AfterMatchSkip.to_next())\r\n # why\r\n .times(2, within=5000))"
    )
    assert Pattern.parse(text) == Pattern.begin("a", skip=AfterMatchSkip.to_next()).times(
        2, within="5 s"
    )


def test_the_longest_pattern_allowed_is_read_back() -> None:
    pattern = Pattern.begin("a")
    for number in range(MAXIMUM_STEPS - 1):
        pattern = pattern.followed_by(f"s{number}").where("x = 1").times(2, 3).greedy()
    assert Pattern.parse(str(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("Pattern.begin('a').evil()", (1, 20), "Pattern has no evil"),
        ("Pattern.begin('é')\n  .wehre('x = 1')", (2, 4), "Did you mean 'where'?"),
        ("Pattern.begin('a').__class__('b')", (1, 20), "Pattern has no __class__"),
        ("Pattern.next('a')", (1, 9), "Pattern has no next here"),
        ("Pattern.begin('a').after_match(AfterMatchSkip.to_frist('a'))", (1, 47), "'to_first'"),
        ("Pattern.begin(__import__('os').getcwd())", (1, 15), "is not part of a pattern"),
        ("Pattern.begin('a' + 'b')", (1, 15), "is not part of a pattern"),
        ("Pattern.begin('a').where(is_big)", (1, 26), "Python code cannot be read back"),
        ("Pattern.begin(b'a')", (1, 15), "is not part of a pattern"),
        ("Pattern.begin(*'a')", (1, 15), "is not part of a pattern"),
        ("Pattern.begin('a').times(1, 2, 3)", (1, 20), "too many positional"),
        ("Pattern.begin('a').times('3')", (1, 20), "whole numbers"),
        ("Pattern.begin('a').within('ten')", (1, 20), "not a duration"),
        ("Pattern.begin('a').where('x = = 1')", (1, 20), "missing"),
        ("AfterMatchSkip.no_skip()", (None, None), "is no pattern"),
        ("Pattern", (1, 1), "Write a chain"),
        ("3", (1, 1), "Write a chain"),
        ("Pattern.begin('a'", (1, 1), "never closed"),
        ("Pattern.begin('a\0')", (1, 1), "null bytes"),
        ("Pattern.begin('a\ud800')", (None, None), "not text"),
        ("Pattern.begin(" * 3000, (1, 2800), "too many nested parentheses"),
        ("Pattern.begin('a')" + ".optional()" * 9000, (None, None), "nested too deeply"),
        ("x" * 300_000, (None, None), "300000 characters; the limit is"),
    ],
    ids=lambda value: (
        value[:40].encode("unicode_escape").decode() if isinstance(value, str) else ""
    ),
)
def test_other_text_is_refused_with_its_place(
    text: str, place: tuple[int | None, int | None], reason: str
) -> None:
    with pytest.raises(PatternError) as refusal:
        Pattern.parse(text)
    (problem,) = refusal.value.problems
    assert reason in str(problem)
    assert (problem.line, problem.column) == place


def test_python_code_is_shown_and_refused_when_read() -> None:
    def is_big(event: object, context: object) -> bool:
        return bool(event) and bool(context)

    text = str(Pattern.begin("a").where("x = 1").where(is_big).subtype(PatternError))
    assert text.startswith('Pattern.begin("a").subtype(PatternError).where("x = 1").where(')
    assert "is_big" in text
    with pytest.raises(PatternError):
        Pattern.parse(text)
