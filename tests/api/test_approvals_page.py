"""docs/approvals.md: every request on the page is answered as the page says, refusals included."""

import json
import re
from pathlib import Path

from api.access.authentication import Role
from tests.api.documents import ANY_STATE, processor_document
from tests.api.people import token_of
from tests.api.running import Publish, ServiceUnderTest
from tests.api.test_serve import shows

PAGE = Path(__file__).parents[2] / "docs" / "approvals.md"
EXCHANGE = re.compile(
    r"^```http\n([A-Z]+) (\S+)\n((?:[A-Z][A-Za-z-]+: [^\n]*\n)*)(.*?)```\n```json\n(.*?)```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?!http)([^)#]+)")


def test_every_request_is_answered_as_shown(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    steps = [{"name": "fail", "where": "action = 'fail'", "times": 3}]
    publish(**processor_document(pattern={"steps": steps, "within": "10 minutes"}))
    tokens = {
        "$ADMIN": with_stream.token_of[Role.ADMIN],
        "$ANA": token_of(with_stream, "ana", person="ana").token,
        "$BOB": token_of(with_stream, "bob", person="bob").token,
    }
    lists = "/v1/streams/logins/lists"
    with_stream.client.post(lists, json={"name": "vip"})
    with_stream.client.put(f"{lists}/vip/values", json=["ana", "bob"], headers=ANY_STATE)
    exchanges = EXCHANGE.findall(text)
    assert len(exchanges) == text.count("```http") == 7
    for method, path, lines, body, shown in exchanges:
        headers = dict(line.split(": ", 1) for line in lines.splitlines())
        scheme, who = headers["Authorization"].split()
        headers |= {"Authorization": f"{scheme} {tokens[who]}", "Content-Type": "application/json"}
        answer = with_stream.client.request(method, path, content=body.strip(), headers=headers)
        assert shows(json.loads(shown), answer.json()), f"{method} {path}: {answer.text}"


def test_it_links_only_to_what_exists() -> None:
    targets = LINK.findall(PAGE.read_text(encoding="utf-8"))
    assert targets
    assert all((PAGE.parent / target).exists() for target in targets)
