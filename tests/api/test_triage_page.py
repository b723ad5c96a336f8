"""docs/triage.md: every request on the page is answered as the page says, labels included."""

import json
import re
from pathlib import Path
from typing import Any

from api.access.authentication import Role
from tests.api.running import START_MS, ServiceUnderTest
from tests.api.test_serve import shows
from tests.api.triage import TRIAGE, found, post

PAGE = Path(__file__).parents[2] / "docs" / "triage.md"
EXCHANGE = re.compile(
    r"^```http\n([A-Z]+) (\S+)\n((?:[A-Z][A-Za-z-]+: [^\n]*\n)*)(.*?)```\n```json\n(.*?)```$",
    re.MULTILINE | re.DOTALL,
)
LABELS = re.compile(r"^```csv\n(.*?)```$", re.MULTILINE | re.DOTALL)


def on_the_page(number: int, **fields: Any) -> dict[str, Any]:
    times = {"start_ms": START_MS - 100_000, "end_ms": START_MS - 10_000}
    return found(number, match_id=f"7d1f3b6e9a5c4d2{number}", **times, **fields)


def test_every_request_is_answered_as_shown(with_stream: ServiceUnderTest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    post(with_stream, *[on_the_page(number) for number in range(3)])
    exchanges = EXCHANGE.findall(text)
    assert len(exchanges) == text.count("```http") == 8
    for method, path, lines, body, shown in exchanges:
        role = Role.VIEWER if method == "GET" else Role.AUTHOR
        headers = dict(line.split(": ", 1) for line in lines.splitlines())
        answer = with_stream.client.request(
            method,
            path,
            content=body,
            headers=with_stream.as_role(role) | {"Content-Type": "application/json"} | headers,
        )
        assert answer.is_success, answer.text
        assert shows(json.loads(shown), answer.json()), f"{method} {path}: {answer.text}"
    (labels,) = LABELS.findall(text)
    exported = with_stream.client.get(f"{TRIAGE}/labels").text
    assert set(labels.splitlines()) <= set(exported.splitlines())
