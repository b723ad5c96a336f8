"""Sends change sets, and reads back what they have made."""

from typing import Any

from httpx2 import Response

from tests.api.running import ServiceUnderTest

PATH = "/v1/streams/logins/change-sets"


def send(service: ServiceUnderTest, *changes: dict[str, Any], **options: Any) -> Response:
    """Send a set with these changes to the stream `logins`; options are those of the request."""
    return service.client.post(PATH, json={"changes": list(changes)}, **options)


def places(answer: Response) -> list[str]:
    """Return where a refused set is wrong."""
    return [flaw["pointer"] for flaw in answer.json()["errors"]]


def everything(service: ServiceUnderTest) -> dict[str, Any]:
    """Return all that a change could have left: rules, versions, log, snapshot."""
    client = service.client
    rules = client.get("/v1/processors?limit=500").json()["items"]
    deleted = client.get("/v1/processors?state=deleted&limit=500").json()["items"]
    ids = [rule["id"] for rule in [*rules, *deleted]]
    return {
        "rules": [client.get(f"/v1/processors/{rule['id']}").json() for rule in rules],
        "deleted": deleted,
        "versions": {
            each: client.get(f"/v1/processors/{each}/versions?limit=500").json()["items"]
            for each in ids
        },
        "log": client.get("/v1/changes?limit=500").json()["items"],
        "snapshot": client.get("/v1/streams/logins/snapshot").json(),
    }
