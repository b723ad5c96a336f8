"""Sends change sets, and reads back what they have made."""

from typing import Any

from httpx2 import Response

from tests.api.running import Service

PATH = "/v1/streams/logins/change-sets"


def send(service: Service, *changes: dict[str, Any], **options: Any) -> Response:
    """Send a set with these changes to the stream `logins`; options are those of the request."""
    return service.client.post(PATH, json={"changes": list(changes)}, **options)


def places(answer: Response) -> list[str]:
    """Return where a refused set is wrong."""
    return [flaw["pointer"] for flaw in answer.json()["errors"]]


def everything(service: Service) -> dict[str, Any]:
    """Return all that a change could have left: rules, versions, log, snapshot."""
    rules = service.get("/v1/processors", limit=500)["items"]
    deleted = service.get("/v1/processors", limit=500, state="deleted")["items"]
    ids = [rule["id"] for rule in [*rules, *deleted]]
    return {
        "rules": [service.get(f"/v1/processors/{rule['id']}") for rule in rules],
        "deleted": deleted,
        "versions": [service.get(f"/v1/processors/{each}/versions", limit=500) for each in ids],
        "log": service.log(limit=500),
        "snapshot": service.snapshot(),
    }
