"""Two writers at once never lose an update and never share an epoch, on either back end."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.api.documents import PATTERN, processor_document
from tests.api.running import ServiceUnderTest, running_service

WRITERS = 4
WRITES = 6


def test_of_writers_that_saw_the_same_state_exactly_one_wins(with_stream: ServiceUnderTest) -> None:
    client = with_stream.client
    client.post("/v1/processors", json=processor_document())
    path = "/v1/processors/failed-logins"
    for attempt in range(3):
        seen = client.get(path).headers["ETag"]

        def put(writer: int, seen: str = seen, first: int = attempt * WRITERS + 1) -> int:
            # Never what is there already: the same content again would change nothing.
            pattern = PATTERN | {"within": f"{first + writer} seconds"}
            document = processor_document(pattern=pattern)
            return client.put(path, json=document, headers={"If-Match": seen}).status_code

        with ThreadPoolExecutor(WRITERS) as pool:
            answers = sorted(pool.map(put, range(WRITERS)))
        assert answers == [200, *[412] * (WRITERS - 1)]


def test_no_update_is_lost_when_every_writer_tries_again(with_stream: ServiceUnderTest) -> None:
    client = with_stream.client
    client.post("/v1/processors", json=processor_document(tags=["start"]))
    path = "/v1/processors/failed-logins"

    def add_tags(writer: int) -> None:
        for number in range(WRITES):
            while True:
                seen = client.get(path)
                tags = [*seen.json()["tags"], f"w{writer}-{number}"]
                headers = {"If-Match": seen.headers["ETag"]}
                answer = client.patch(path, json={"tags": tags}, headers=headers)
                if answer.status_code == 200:
                    break
                assert answer.status_code == 412

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(add_tags, range(WRITERS)))

    expected = {f"w{writer}-{n}" for writer in range(WRITERS) for n in range(WRITES)} | {"start"}
    assert set(client.get(path).json()["tags"]) == expected


def test_epochs_are_without_gaps_and_unique_across_two_services(
    with_stream: ServiceUnderTest,
) -> None:
    with running_service(with_stream.url) as other:
        services = itertools.cycle([with_stream, other])

        def publish(pair: tuple[int, ServiceUnderTest]) -> Any:
            number, service = pair
            document = processor_document(id=f"p{number % 5}", description=str(number))
            answer = service.client.post("/v1/processors", json=document)
            path = f"/v1/processors/{document['id']}"
            if answer.status_code == 409:
                document["pattern"] = PATTERN | {"within_ms": number + 1, "within": None}
                answer = service.client.put(path, json=document, headers={"If-Match": "*"})
            return answer.status_code

        # FastAPI builds a route on its first request; two apps of one process must not at once.
        for first in ((0, with_stream), (0, other), (5, with_stream)):
            publish(first)
        with ThreadPoolExecutor(WRITERS) as pool:
            answers = list(pool.map(publish, zip(range(30), services, strict=False)))
        assert set(answers) <= {200, 201}
        changes = other.client.get("/v1/changes?stream=logins&limit=500").json()["items"]
        epochs = [change["epoch"] for change in changes if change["epoch"] is not None]
        newest = other.client.get("/v1/streams/logins").json()["epoch"]
        assert sorted(epochs) == list(range(1, newest + 1))
        bodies = [
            each.client.get("/v1/streams/logins/snapshot").content for each in (with_stream, other)
        ]
        assert bodies[0] == bodies[1]
        versions = {
            (change["processor_id"], change["new_version"])
            for change in changes
            if change["processor_id"] and change["epoch"]
        }
        assert len(versions) == newest - 1
