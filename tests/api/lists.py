"""Lists of the stream `logins`, for tests."""

from typing import Any

from httpx2 import Response

from contract.snapshot import Snapshot
from tests.api.documents import ANY_STATE
from tests.api.running import Service

LISTS = "/v1/streams/logins/lists"
VIP = f"{LISTS}/vip"
CSV = {"Content-Type": "text/csv"}


class Lists:
    """The lists of the stream `logins`; most is about the one named `vip`."""

    def __init__(self, service: Service) -> None:
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

    def change(self, query: str = "", **changes: Any) -> Response:
        return self.client.post(f"{VIP}/changes{query}", json=changes)

    def roll_back(self, version: int) -> Response:
        return self.service.send("POST", f"{VIP}/rollback", {"version": version})

    def cancel(self, version: int) -> Response:
        return self.service.send("POST", f"{VIP}/versions/{version}/cancel")

    def delete(self, name: str = "vip") -> Response:
        return self.service.send("DELETE", f"{LISTS}/{name}")

    def read(self) -> Any:
        return self.service.get(VIP)

    def values(self, name: str = "vip", **query: Any) -> Any:
        return self.service.get(f"{LISTS}/{name}/values", limit=500, **query)["items"]

    def versions(self) -> Any:
        return self.service.get(f"{VIP}/versions")["items"]

    def snapshot(self) -> Snapshot:
        return Snapshot.model_validate(self.service.snapshot())
