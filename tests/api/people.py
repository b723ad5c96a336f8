"""People with tokens of their own, and what they do with proposals."""

from dataclasses import dataclass
from typing import Any

from httpx2 import Response

from api.tokens import service as tokens
from api.transactions import Writing
from contract.service.tokens import Role, TokenDocument
from tests.api.documents import ANY_STATE
from tests.api.running import Service

PROPOSALS = "/v1/proposals"


@dataclass(frozen=True)
class Person:
    """One token of somebody."""

    service: Service
    token: str

    def send(self, method: str, path: str, **request: Any) -> Response:
        """Make a request, in whatever state things are."""
        headers = ANY_STATE | request.pop("headers", {}) | {"Authorization": f"Bearer {self.token}"}
        answer: Response = self.service.client.request(method, path, headers=headers, **request)
        return answer

    def propose(self, **change: Any) -> Any:
        """Propose a change and return the proposal."""
        answer = self.send("POST", PROPOSALS, json=change)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def refused(self, change: dict[str, Any], status: int = 422) -> Any:
        """Propose what is refused, and return the problem."""
        answer = self.send("POST", PROPOSALS, json=change)
        assert answer.status_code == status, answer.text
        return answer.json()

    def read(self, proposal: int) -> Any:
        """Return a proposal as it is now."""
        return self.send("GET", f"{PROPOSALS}/{proposal}").json()

    def act(self, proposal: int, verb: str, **request: Any) -> Response:
        """Do something with a proposal: approve, publish …"""
        return self.send("POST", f"{PROPOSALS}/{proposal}/{verb}", **request)

    def tries(self, proposal: int, *verbs: str) -> list[int]:
        """Do one thing with a proposal after the other, and return the statuses."""
        return [self.act(proposal, verb).status_code for verb in verbs]


def token_of(
    service: Service, name: str, role: Role = Role.PUBLISHER, *, person: str | None = None
) -> Person:
    """Return somebody with a new token; `person` is whose it is."""
    with service.database.writing() as session:
        writing = Writing(session, "test", service.clock())
        document = TokenDocument(name=name, role=role, person=person)
        return Person(service, tokens.create(writing, document).token)


def ask_for(service: Service, required: int, stream: str = "logins") -> None:
    """Let a stream ask for so many approvals."""
    path = f"/v1/streams/{stream}/approvals"
    answer = service.client.put(path, json={"required": required}, headers=ANY_STATE)
    assert answer.status_code == 200, answer.text
