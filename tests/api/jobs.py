"""Jobs that register and report, for tests."""

from typing import Any

from contract.service.tokens import Role
from tests.api.running import ServiceUnderTest

FIRST = "instance-1"


class ReportingJob:
    """A job that registers and sends heartbeats with the role of a job."""

    def __init__(
        self, service: ServiceUnderTest, name: str = "main", instance: str = FIRST
    ) -> None:
        self.service = service
        self.instance = instance
        self.sequence = 0
        self.name = name
        answer = self.put()
        assert answer.status_code == 200, answer.text
        self.id: str = answer.json()["id"]

    def put(self) -> Any:
        body = {"instance_id": self.instance, "properties": {"host": "driver-1"}}
        headers = self.service.as_role(Role.JOB)
        return self.service.client.put(
            f"/v1/streams/logins/jobs/{self.name}", json=body, headers=headers
        )

    def post(self, **fields: Any) -> Any:
        self.sequence += 1
        body = {"instance_id": self.instance, "sequence": self.sequence} | fields
        path = f"/v1/jobs/{self.id}/heartbeats"
        headers = self.service.as_role(Role.JOB)
        return self.service.client.post(path, json=body, headers=headers)

    def beat(self, *versions: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = self.post(versions=list(versions), **fields)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def tell(self, *answers: dict[str, Any], instance: str | None = None) -> Any:
        """Answer questions about keys."""
        body = {"instance_id": instance or self.instance, "answers": list(answers)}
        path = f"/v1/jobs/{self.id}/key-answers"
        return self.service.client.post(path, json=body, headers=self.service.as_role(Role.JOB))

    def stop(self) -> Any:
        body = {"instance_id": self.instance, "reason": "deployed"}
        headers = self.service.as_role(Role.JOB)
        return self.service.client.post(f"/v1/jobs/{self.id}/stop", json=body, headers=headers)

    def view(self) -> dict[str, Any]:
        view: dict[str, Any] = self.service.get(f"/v1/jobs/{self.id}")
        return view


def running(processor_id: str = "failed-logins", version: int = 1, **fields: Any) -> dict[str, Any]:
    fields = {"state": "active"} | fields
    return {"processor_id": processor_id, "version": version} | fields
