"""Matches to be triaged, and requests that triage them, for tests."""

from typing import Any

from contract.service.tokens import Role
from tests.api.documents import ANY_STATE
from tests.api.running import START_MS, Service

MATCHES = "/v1/streams/logins/matches"
TRIAGE = "/v1/streams/logins/triage"


def match_id(number: int) -> str:
    return f"match-{number:012}"


def found(number: int, **fields: Any) -> dict[str, Any]:
    """Return a match as a job posts it."""
    match = {
        "match_id": match_id(number),
        "processor_id": "failed-logins",
        "version": 1,
        "epoch": 2,
        "key": ["eve"],
        "start_ms": START_MS,
        "end_ms": START_MS + number,
        "output": {"failures": number},
        "events": {"login": [{"user": "eve"}]},
    }
    return match | fields


def post(service: Service, *matches: dict[str, Any], path: str = MATCHES) -> Any:
    body = {"job": "main", "matches": list(matches)}
    return service.post(path, Role.JOB, body)


def triage(service: Service, number: int, **change: Any) -> dict[str, Any]:
    """Change the triage of a match, in whatever state it is."""
    path = f"{MATCHES}/{match_id(number)}/triage"
    headers = service.as_role(Role.AUTHOR) | ANY_STATE
    answer = service.client.patch(path, json=change, headers=headers)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def bulk(service: Service, change: dict[str, Any], **query: Any) -> Any:
    """Send a change of many matches and return the answer."""
    headers = service.as_role(Role.AUTHOR)
    return service.client.post(TRIAGE, json=change, params=query, headers=headers)


def selected(*numbers: int, **revisions: int) -> list[dict[str, Any]]:
    return [{"match_id": match_id(number), **revisions} for number in numbers]


def listed(service: Service, **query: Any) -> list[int]:
    """Return the numbers in the output of all matches that meet a filter, newest first."""
    pages = service.pages(MATCHES, **query)
    return [match["output"]["failures"] for page in pages for match in page["items"]]


def counts(service: Service, **query: Any) -> dict[str, dict[str, Any]]:
    """Return the counts of all rules, by id."""
    items = service.get(TRIAGE, **query)["items"]
    return {item.pop("processor_id"): item for item in items}
