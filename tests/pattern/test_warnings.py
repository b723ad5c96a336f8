"""Warnings: what is allowed but rarely meant."""

import pytest

from cep.pattern import AfterMatchSkip, Pattern

LOOP = Pattern.begin("a").next("b").one_or_more()
GROUPS = Pattern.begin(Pattern.begin("a").next("b")).one_or_more()


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (LOOP, ["steps[1].times", "steps[1].times", "within"]),
        (LOOP.until("x = 1"), ["steps[1].times", "within"]),
        (LOOP.next("c").within("1 h"), []),
        (LOOP.within("1 h").greedy(), ["steps[1].greedy", "steps[1].times"]),
        (
            Pattern.begin("a").times(2, 4).after_match(AfterMatchSkip.past_last_event()),
            ["steps[0].times"],
        ),
        (Pattern.begin("a").times(3), []),
        (Pattern.begin("a").next("b").where("x IN (1, 2) AND x = 3").within(5), ["steps[1].where"]),
        (LOOP.until("x > 1 AND (x = 0 OR x < 0)").next("c").within(5), ["steps[1].until"]),
        (LOOP.greedy().next("c").within("1 h"), []),
        (Pattern.begin("a").times(2).greedy().next("b").within(5), ["steps[0].greedy"]),
        (Pattern.begin("a"), []),
        (Pattern.begin("a").within(0).next("b").within(5), ["steps[0].within"]),
        (Pattern.begin("a").not_next("b").within(5), ["steps[1].contiguity"]),
        (GROUPS.followed_by("c").within(5), ["steps[1].contiguity"]),
        (GROUPS.next("c").within(5), []),
        (
            LOOP.until("x = 1").after_match(AfterMatchSkip.past_last_event()),
            ["steps[1].times", "within", "after_match_skip"],
        ),
        (
            LOOP.within(5).after_match(AfterMatchSkip.to_first("a", throw_on_miss=True)),
            ["steps[1].times", "after_match_skip.throw_on_miss"],
        ),
        (
            LOOP.within(5).optional().after_match(AfterMatchSkip.to_last("b", throw_on_miss=True)),
            ["steps[1].times", "after_match_skip.throw_on_miss"],
        ),
        (Pattern.begin("a").where("x > 10 AND x < 5"), ["steps[0].where"]),
        (Pattern.begin("a").where("x = NULL AND y = 1"), ["steps[0].where"]),
        (LOOP.until("NULL <> x").next("c").within(5), ["steps[1].until"]),
        (Pattern.begin("a").where("x = NULL AND y > 2 AND y < 1"), ["steps[0].where"] * 2),
    ],
    ids=str,
)
def test_what_is_rarely_meant_is_told_where_it_stands(pattern: Pattern, paths: list[str]) -> None:
    assert [warning.path for warning in pattern.warnings()] == paths
    assert pattern.validate() is pattern


def test_texts_that_seem_to_escape_a_character_are_named() -> None:
    escaping = [r"'a\n'", r"'\t'", r"'\r\n'", r"'C:\\new'", r"'\u00e9'", r"'a\"b'"]
    paths = [r"'C:\new\temp'", r"'\\server\share'", r"'\net.exe'", r"'100\%'", "'a'"]
    for text in (*escaping, *paths):
        conditions = [f"x = {text}", f"x IN ({text}, 'b')", f"x LIKE {text}"]
        for condition in conditions:
            pattern = Pattern.begin("a").where(condition)
            clause = f"MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS {condition})"
            for each in (pattern, Pattern.from_sql(clause)):
                found = [warning.message for warning in each.warnings()]
                assert bool(found) == (text in escaping), condition
                assert all("a backslash escapes nothing" in message for message in found)
    assert not Pattern.begin("a").where(r"x RLIKE '\n\\t'").warnings()
