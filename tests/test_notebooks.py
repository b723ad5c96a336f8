"""What a notebook shows of patterns, matches and rows."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from percept import Match, Pattern, find_matches, match_recognize

PATTERN = (
    Pattern.begin("fail")
    .where("action = 'fail'")
    .times(2)
    .followed_by("login")
    .where("action = 'login'")
)


def events(*users: str) -> list[dict[str, object]]:
    return [
        {"ts": 1_000 * number, "user": user, "action": action}
        for number, (user, action) in enumerate(
            (user, action) for user in users for action in ("fail", "fail", "login")
        )
    ]


def shown(value: object) -> dict[str, str]:
    """Return what Jupyter shows of a value, by its kind; it asks for these methods by name."""
    methods = {"text/html": "_repr_html_", "text/markdown": "_repr_markdown_"}
    told = {kind: getattr(value, name)() for kind, name in methods.items() if hasattr(value, name)}
    return {"text/plain": repr(value), **told}


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [
        [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]


def test_matches_are_a_table_and_each_one_of_its_events() -> None:
    result = find_matches(PATTERN, events("ada", "bob"), key_by="user")
    assert cells(shown(result)["text/html"]) == [
        ["", "time", "key", "events"],
        ["match", "1970-01-01T00:00:02.000Z", "ada", "fail × 2, login"],  # noqa: RUF001 - "times"
        ["match", "1970-01-01T00:00:05.000Z", "bob", "fail × 2, login"],  # noqa: RUF001 - "times"
    ]
    assert cells(shown(result.matches[0])["text/html"]) == [
        ["step", "ts", "user", "action"],
        ["fail", "0", "ada", "fail"],
        ["fail", "1000", "ada", "fail"],
        ["login", "2000", "ada", "login"],
    ]


def test_what_is_open_or_absent_is_told() -> None:
    assert (
        "1 partial match was open" in shown(find_matches(PATTERN, events("ada")[:1]))["text/html"]
    )
    assert "nothing found" in shown(find_matches(PATTERN, []))["text/html"]


def test_many_are_cut_with_their_number() -> None:
    result = find_matches(PATTERN, events(*(f"user{n}" for n in range(1_234))), key_by="user")
    html = shown(result)["text/html"]
    assert len(cells(html)) == 51
    assert "… and 1,184 more" in html


def test_events_that_are_no_mappings_are_shown_as_they_are() -> None:
    match = Match({"a": [(1, "x"), None]}, 0, 0)
    assert cells(shown(match)["text/html"]) == [["step", "event"], ["a", "(1, 'x')"], ["a", "NULL"]]


def test_rows_of_a_clause_are_a_table() -> None:
    clause = """SELECT * FROM t MATCH_RECOGNIZE (
      ORDER BY d MEASURES A.d AS first, LAST(B.d) AS last PATTERN (A B+) DEFINE B AS p < PREV(p))"""
    rows = match_recognize(clause, [(1, 3), (2, 2), (3, 1)], schema="d INT, p INT")
    assert cells(shown(rows)["text/html"]) == [["first", "last"], ["1", "3"]]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202egnp"]
)
def test_hostile_text_is_text(text: str) -> None:
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            assert {name for name, _ in attrs} <= {"style"}

    hostile = [event | {"user": text, text: 1} for event in events("x")]
    result = find_matches(PATTERN, hostile, key_by="user")
    for each in (result, result.matches[0]):
        html = shown(each)["text/html"]
        Tags().feed(html)
        assert text in unescape(html)
    assert set(tags) <= {"table", "thead", "tbody", "tr", "th", "td", "bdi", "i", "p"}


def test_a_pattern_is_shown_as_code() -> None:
    assert shown(PATTERN)["text/markdown"].startswith('~~~python\nPattern.begin("fail")')
    assert ".times(2)" in shown(PATTERN)["text/plain"]
