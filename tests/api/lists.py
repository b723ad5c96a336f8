"""Lists of the stream `logins`, for tests."""

from typing import Any

from httpx2 import Response

from contract.snapshot import Snapshot
from tests.api.documents import ANY_STATE
from tests.api.running import ServiceUnderTest

LISTS = "/v1/streams/logins/lists"
VIP = f"{LISTS}/vip"
CSV = {"Content-Type": "text/csv"}


class Lists:
    """The lists of the stream `logins`; most is about the one named `vip`."""

    def __init__(self, service: ServiceUnderTest) -> None:
        self.service = service
        self.client = service.client

    def create(self, *values: Any, name: str = "vip", **document: Any) -> Response:
        """Create a list, and put values."""
        answer = self.client.post(LISTS, json={"name": name} | document)
        assert answer.status_code == 201, answer.text
        if values:
            answer = self.put(list(values), name=name)
            assert answer.status_code == 200, answer.text
        return answer

    def put(self, values: list[Any], name: str = "vip", **query: Any) -> Response:
        path = f"{LISTS}/{name}/values"
        return self.client.put(path, json=values, headers=ANY_STATE, params=query)

    def put_csv(self, text: str | bytes, **query: Any) -> Response:
        headers = ANY_STATE | CSV
        return self.client.put(f"{VIP}/values", content=text, headers=headers, params=query)

    def change(self, **changes: Any) -> Response:
        return self.client.post(f"{VIP}/changes", json=changes)

    def values(self, name: str = "vip", **query: Any) -> Any:
        return self.service.get(f"{LISTS}/{name}/values", limit=500, **query)["items"]

    def versions(self) -> Any:
        return self.client.get(f"{VIP}/versions").json()["items"]

    def snapshot(self) -> Snapshot:
        answer = self.client.get("/v1/streams/logins/snapshot")
        return Snapshot.model_validate_json(answer.content)
