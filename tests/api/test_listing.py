"""Lists: every filter and order gives what a plain loop over all processors gives, page by page."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.api.documents import ANY_STATE, PATTERN, STREAM, processor_document
from tests.api.running import Service, running_service
from tests.properties import slow_property

SORT_FIELDS = ["id", "owner", "created_at", "updated_at"]


@pytest.fixture(scope="module")
def lasting_service(store_kind: str, migrated_store: Callable[[str], str]) -> Iterator[Service]:
    """A service with fourteen processors on two streams, in all states."""
    with running_service(migrated_store(store_kind)) as service:
        fill(service)
        yield service


def fill(service: Service) -> None:
    client = service.client
    for stream in ("logins", "other"):
        client.post("/v1/streams", json=STREAM | {"name": stream})
    for number in range(14):
        service.clock.time_ms += 1_000 * (number % 3)
        document = processor_document(
            id=f"{'Zz' if number % 2 else 'a_'}{number}",
            stream="other" if number % 5 == 0 else "logins",
            owner=["", "Fraud", "ätna", "_x"][number % 4],
            tags=["even"] if number % 2 == 0 else ["odd", "x:y"],
            description="100% Safe" if number % 3 == 0 else "back\\slash",
            pattern=PATTERN
            | ({"within": f"{number + 1} minutes"} if number % 4 else {"within": None}),
        )
        assert client.post("/v1/processors", json=document).status_code == 201
        path = f"/v1/processors/{document['id']}"
        if number == 3:
            client.post(f"{path}/pause", headers=ANY_STATE)
        if number == 4:
            client.delete(path, headers=ANY_STATE)
        if number == 6:
            later = document | {"effective_from": "2030-01-01T00:00:00Z"}
            client.put(path, json=later, headers=ANY_STATE)


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "stream": st.sampled_from(["logins", "other", "none"]),
        "state": st.sampled_from(["published", "scheduled", "paused", "deleted"]),
        "tag": st.sampled_from(["even", "odd", "x:y"]),
        "owner": st.sampled_from(["Fraud", "ätna"]),
        "text": st.sampled_from(
            ["100%", "SAFE", "back\\", "_", "zz1", "action = 'fail'", "absent"]
        ),
        "problem": st.sampled_from(["true", "false"]),
    },
)


def wanted(processor: dict[str, Any], query: dict[str, str]) -> bool:
    state = query.get("state")
    text = query.get("text", "").lower()
    haystack = [processor["id"], processor["description"], str(PATTERN).replace('"', "'")]
    return (
        processor["stream"] == query.get("stream", processor["stream"])
        and (processor["state"] == state if state else processor["state"] != "deleted")
        and query.get("tag", processor["tags"][0]) in processor["tags"]
        and processor["owner"] == query.get("owner", processor["owner"])
        and any(text in part.lower() for part in haystack)
        and query.get("problem", str(processor["warning_count"] > 0).lower())
        == str(processor["warning_count"] > 0).lower()
    )


@slow_property()
@given(
    query=FILTERS,
    field=st.sampled_from(SORT_FIELDS),
    descending=st.booleans(),
    limit=st.integers(1, 6),
)
def test_pages_together_are_all_that_meets_the_filter_in_order(
    lasting_service: Service,
    query: dict[str, str],
    field: str,
    descending: bool,  # noqa: FBT001 - Hypothesis passes it by name
    limit: int,
) -> None:
    client = lasting_service.client
    every = client.get("/v1/processors?limit=500").json()["items"]
    every += client.get("/v1/processors?state=deleted").json()["items"]
    expected = sorted(
        (processor for processor in every if wanted(processor, query)),
        key=lambda processor: (processor[field], processor["id"]),
        reverse=descending,
    )
    sort = f"-{field}" if descending else field
    pages = list(lasting_service.pages("/v1/processors", **query, sort=sort, limit=limit))
    assert max(len(page["items"]) for page in pages) <= limit
    assert [processor for page in pages for processor in page["items"]] == expected


@pytest.mark.parametrize("path", ["/v1/changes", "/v1/streams", "/v1/processors/a_2/versions"])
def test_other_lists_are_the_same_in_pages_and_at_once(lasting_service: Service, path: str) -> None:
    whole = lasting_service.get(path, limit=500)["items"]
    pages = lasting_service.pages(path, limit=1)
    assert [item for page in pages for item in page["items"]] == whole != []
