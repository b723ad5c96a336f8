"""docs/jobs.md: every request on the page is answered as the page says."""

import json
import re
from pathlib import Path

from api.access.authentication import Role
from tests.api.running import ServiceUnderTest
from tests.api.test_serve import shows

PAGE = Path(__file__).parents[2] / "docs" / "jobs.md"
EXCHANGE = re.compile(
    r"^```http\n([A-Z]+) (\S+)\n(.*?)```\n```json\n(.*?)```$", re.MULTILINE | re.DOTALL
)


def test_every_request_is_answered_as_shown(with_rule: ServiceUnderTest) -> None:
    exchanges = EXCHANGE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(exchanges) == 6
    job_id = ""
    for method, path, body, shown in exchanges:
        role = Role.VIEWER if method == "GET" else Role.JOB
        answer = with_rule.client.request(
            method,
            path.replace("{job_id}", job_id),
            content=body,
            headers=with_rule.as_role(role) | {"Content-Type": "application/json"},
        )
        assert answer.status_code == 200, answer.text
        given = answer.json()
        job_id = job_id or given["id"]
        wanted = json.loads(shown.replace("{job_id}", job_id))
        assert shows(wanted, given), f"{method} {path}: {answer.text}"
