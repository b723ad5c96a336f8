"""Jobs that register and report, for tests."""

from typing import Any

from httpx2 import Response

from contract.service.tokens import Role
from tests.api.running import Service

FIRST = "instance-1"


class ReportingJob:
    """A job that registers and sends heartbeats with the role of a job."""

    def __init__(self, service: Service, name: str = "main", instance: str = FIRST) -> None:
        self.service = service
        self.instance = instance
        self.sequence = 0
        self.name = name
        answer = self.put()
        assert answer.status_code == 200, answer.text
        self.id: str = answer.json()["id"]

    def put(self) -> Response:
        path = f"/v1/streams/logins/jobs/{self.name}"
        return self._send("PUT", path, properties={"host": "driver-1"})

    def post(self, **fields: Any) -> Response:
        self.sequence += 1
        path = f"/v1/jobs/{self.id}/heartbeats"
        return self._send("POST", path, **{"sequence": self.sequence} | fields)

    def beat(self, *versions: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = self.post(versions=list(versions), **fields)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def tell(self, *answers: dict[str, Any], instance: str | None = None) -> Response:
        """Answer questions about keys."""
        own = {"instance_id": instance or self.instance}
        return self._send("POST", f"/v1/jobs/{self.id}/key-answers", answers=answers, **own)

    def stop(self) -> Response:
        return self._send("POST", f"/v1/jobs/{self.id}/stop", reason="deployed")

    def _send(self, method: str, path: str, **fields: Any) -> Response:
        return self.service.send(method, path, {"instance_id": self.instance} | fields, Role.JOB)

    def view(self) -> dict[str, Any]:
        view: dict[str, Any] = self.service.get(f"/v1/jobs/{self.id}")
        return view


def running(processor_id: str = "failed-logins", version: int = 1, **fields: Any) -> dict[str, Any]:
    fields = {"state": "active"} | fields
    return {"processor_id": processor_id, "version": version} | fields
