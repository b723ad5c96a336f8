"""What leaves the page of matches: a file of them, a range of time, the address of an open row."""

import json
import re
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.documents import processor_document
from tests.dashboard.reporting_job import ReportingJob
from tests.dashboard.serving import ServedDashboard

MATCHES = "/streams/logins/matches"
SOURCE = "/v1/streams/logins/matches"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
# How long ago the match of each key ended.
AGES_MS = {
    "minutes": 5 * MINUTE_MS,
    "half an hour": 30 * MINUTE_MS,
    "hours": 5 * HOUR_MS,
    "days": 3 * DAY_MS,
    "weeks": 20 * DAY_MS,
}


@pytest.fixture
def matches(dashboard: ServedDashboard, reporting_job: ReportingJob) -> dict[str, str]:
    """The ids of matches of five ages, by key."""
    for processor_id in ("failed-logins", "other"):
        dashboard.publish(processor_document(id=processor_id))
    reporting_job.run_batch()
    found = {}
    for number, (key, age_ms) in enumerate(AGES_MS.items()):
        match = reporting_job.find(
            ("failed-logins", "other")[number % 2],
            1,
            key=[key, number],
            kind="match" if number else "timeout",
            output={"amount": number / 4, "text": '\u202e<b>\u00e4, "b"\n\u2028', "none": None},
            end_ms=dashboard.clock() - age_ms,
        )
        found[key] = match.match_id
    return found


def rows(page: Page) -> Locator:
    return page.locator(".found-list > .found")


@pytest.mark.parametrize("query", ["", "kind=match&processor=other", "sort=end&key_prefix=days"])
def test_a_file_of_json_is_what_the_service_gives_for_these_filters(
    admin_page: Page, dashboard: ServedDashboard, matches: dict[str, str], query: str
) -> None:
    filters = {name: value for name, (value,) in parse_qs(query).items()}
    admin_page.goto(f"{MATCHES}?{query}")
    listed = dashboard.get(SOURCE, **filters)["items"]
    assert 0 < len(listed) <= len(matches)
    expect(rows(admin_page)).to_have_count(len(listed))
    summary = admin_page.get_by_role("region", name="Summary of the matches")
    summary.get_by_role("button", name="Download").click()
    with admin_page.expect_download() as download:
        summary.get_by_role("link", name="JSON").click()
    assert download.value.suggested_filename.endswith(".jsonl")
    text = download.value.path().read_bytes()
    wanted = {name: value for name, value in filters.items() if name != "sort"}
    exported = dashboard.client.get(f"{SOURCE}/export", params=wanted | {"format": "jsonl"})
    assert text == exported.content
    lines = [json.loads(line) for line in text.decode().split("\n")[:-1]]
    assert lines == sorted(listed, key=lambda match: match["number"], reverse=True)


@pytest.mark.parametrize(
    ("preset", "name", "keys"),
    [
        ("Last 15 minutes", "15m", ["minutes"]),
        ("Last hour", "1h", ["minutes", "half an hour"]),
        ("Last 24 hours", "24h", ["minutes", "half an hour", "hours"]),
        ("Last 7 days", "7d", ["minutes", "half an hour", "hours", "days"]),
    ],
)
@pytest.mark.usefixtures("matches")
def test_a_preset_shows_what_ended_in_that_time(
    admin_page: Page, preset: str, name: str, keys: list[str]
) -> None:
    admin_page.goto(f"{MATCHES}?until=2026-01-01T00:00:00.000Z&kind=match")
    times = admin_page.get_by_label("Event time", exact=True)
    expect(times.locator("option:checked")).to_have_text("Custom range")
    times.select_option(preset)
    for _ in range(2):
        expect(admin_page).to_have_url(re.compile(rf"/matches\?kind=match&last={name}$"))
        expect(times.locator("option:checked")).to_have_text(preset)
        expect(times.locator("option", has_text="Custom range")).to_have_count(0)
        # The first was a timeout.
        expect(rows(admin_page)).to_have_count(len(keys) - 1)
        for row, key in zip(rows(admin_page).all(), keys[1:], strict=True):
            expect(row).to_contain_text(key)
        admin_page.reload()
    times.select_option("Any time")
    expect(admin_page).to_have_url(re.compile(r"/matches\?kind=match$"))
    expect(rows(admin_page)).to_have_count(len(AGES_MS) - 1)


def test_a_range_that_ends_now_moves_on_while_the_page_is_open_and_in_its_link(
    admin_page: Page, dashboard: ServedDashboard, matches: dict[str, str]
) -> None:
    admin_page.clock.install()
    admin_page.goto(f"{MATCHES}?last=15m")
    expect(rows(admin_page)).to_have_count(1)
    summary = admin_page.get_by_role("region", name="Summary of the matches")
    expect(summary).to_contain_text("1 match")
    admin_page.clock.run_for(9 * MINUTE_MS)
    expect(rows(admin_page)).to_have_count(1)
    admin_page.clock.run_for(2 * MINUTE_MS)
    expect(rows(admin_page)).to_have_count(0)
    expect(summary).to_have_count(0)
    admin_page.reload()
    expect(admin_page.get_by_label("Event time", exact=True)).to_have_value("15m")
    expect(rows(admin_page)).to_have_count(0)
    assert dashboard.get(f"{SOURCE}/{matches['minutes']}")["key"] == ["minutes", 0]


@pytest.mark.parametrize("field", ["From", "Until"])
@pytest.mark.usefixtures("matches")
def test_a_range_with_a_time_of_its_own_is_a_custom_one(admin_page: Page, field: str) -> None:
    admin_page.goto(f"{MATCHES}?last=24h")
    expect(rows(admin_page)).to_have_count(3)
    before_ms = admin_page.evaluate("Date.now()")
    admin_page.get_by_label(field, exact=True).fill("2030-01-01T10:00")
    admin_page.get_by_label(field, exact=True).blur()
    times = admin_page.get_by_label("Event time", exact=True)
    expect(times.locator("option:checked")).to_have_text("Custom range")
    query = parse_qs(urlsplit(admin_page.url).query)
    assert "last" not in query
    if field == "Until":  # it begins where it began, and no longer moves
        since_ms = datetime.fromisoformat(query["since"][0]).timestamp() * 1000
        assert abs(since_ms + DAY_MS - before_ms) < MINUTE_MS
        expect(rows(admin_page)).to_have_count(3)
    else:
        assert "until" not in query
        expect(rows(admin_page)).to_have_count(0)


@pytest.mark.parametrize(
    "query", ["last=99y", "last=constructor", "last=7d&since=2026-01-01T00:00:00Z"]
)
@pytest.mark.usefixtures("matches")
def test_a_range_that_is_none_or_beside_a_time_says_nothing(admin_page: Page, query: str) -> None:
    admin_page.goto(f"{MATCHES}?{query}")
    expect(rows(admin_page)).to_have_count(len(AGES_MS))
    chosen = admin_page.get_by_label("Event time", exact=True).locator("option:checked")
    expect(chosen).to_have_text("Custom range" if "since" in query else "Any time")


def test_the_open_row_is_in_the_address_and_open_again_after_a_reload(
    admin_page: Page, matches: dict[str, str]
) -> None:
    def opener(key: str) -> Locator:
        row = admin_page.locator(f"[data-match='{matches[key]}']")
        return row.get_by_role("button", name=re.compile("^Events of the"))

    admin_page.goto(f"{MATCHES}?kind=match")
    opener("hours").click()
    expect(admin_page).to_have_url(
        f"{admin_page.url.partition('?')[0]}?kind=match&open={matches['hours']}"
    )
    opened = admin_page.locator(".found-opened")
    expect(opened).to_have_count(1)
    opener("days").click()
    expect(admin_page).to_have_url(re.compile(f"open={matches['days']}$"))
    admin_page.reload()
    expect(opener("days")).to_have_attribute("aria-expanded", "true")
    expect(opener("hours")).to_have_attribute("aria-expanded", "false")
    expect(opened).to_have_count(1)
    expect(opened.get_by_role("figure", name=re.compile("^match of"))).to_be_visible()
    # It stands in its place in the list, once.
    expect(admin_page.get_by_role("list", name="Linked match")).to_have_count(0)
    expect(rows(admin_page)).to_have_count(len(AGES_MS) - 1)

    opener("days").click()
    expect(admin_page).to_have_url(re.compile(r"/matches\?kind=match$"))
    expect(opened).to_have_count(0)
