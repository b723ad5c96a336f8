"""docs/lists.md: every request on the page is answered as the page says."""

import json
import re
from pathlib import Path

from api.access.authentication import Role
from tests.api.running import ServiceUnderTest
from tests.api.test_serve import shows

PAGE = Path(__file__).parents[2] / "docs" / "lists.md"
EXCHANGE = re.compile(
    r"^```http\n([A-Z]+) (\S+)\n((?:[A-Z][A-Za-z-]+: [^\n]*\n)*)(.*?)```\n(?:```json\n(.*?)```$)?",
    re.MULTILINE | re.DOTALL,
)


def test_every_request_is_answered_as_shown(with_stream: ServiceUnderTest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    exchanges = EXCHANGE.findall(text)
    assert len(exchanges) == text.count("```http") == 9
    for method, path, lines, body, shown in exchanges:
        role = Role.VIEWER if method == "GET" else Role.PUBLISHER
        headers = {"Content-Type": "application/json"}
        headers |= dict(line.split(": ", 1) for line in lines.splitlines())
        answer = with_stream.client.request(
            method,
            path,
            content=body.lstrip("\n"),
            headers=with_stream.as_role(role) | headers,
        )
        assert answer.is_success, answer.text
        if shown:
            assert shows(json.loads(shown), answer.json()), f"{method} {path}: {answer.text}"
