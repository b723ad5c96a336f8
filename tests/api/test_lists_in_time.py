"""Lists beside a model of them: random changes, several writers at once, a million values."""

import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.instants import iso_text
from cep.list_content import list_content, list_digest
from contract.snapshot import Snapshot
from tests.api.documents import ANY_STATE
from tests.api.lists import CSV, LISTS, VIP, Lists
from tests.api.running import START_MS, Service
from tests.properties import slow_property

WRITERS = 4
DAY_MS = 86_400_000
VALUES = st.frozensets(st.sampled_from(["a", "b", "c", "é", "x, y", 'q"', "line\nline"]))
WHEN = st.sampled_from([None, None, 1, 2])
STEPS = st.one_of(
    st.tuples(st.just("put"), VALUES, WHEN),
    st.tuples(st.just("change"), VALUES, VALUES, WHEN),
    st.tuples(st.just("rollback"), st.integers(1, 8)),
    st.tuples(st.just("cancel"), st.integers(1, 8)),
)


class Model:
    """A list as it should be: values by version, and which versions jobs are given."""

    def __init__(self) -> None:
        self.values: list[frozenset[str]] = [frozenset()]
        self.published: list[tuple[int, int | None]] = [(1, None)]

    def base(self, from_ms: int | None) -> frozenset[str]:
        at_ms = START_MS if from_ms is None else from_ms
        number = [each for each, since in self.published if since is None or since <= at_ms][-1]
        return self.values[number - 1]

    def take(self, values: frozenset[str], from_ms: int | None) -> None:
        number, since = self.published[-1]
        if self.values[number - 1] == values and since == from_ms:
            return
        self.values.append(values)
        kept = [] if from_ms is None else self.published
        self.published = [*kept, (len(self.values), from_ms)]

    def cancel(self, number: int) -> bool:
        left = [each for each in self.published if each[0] != number or each[1] is None]
        was_scheduled = left != self.published
        self.published = left
        return was_scheduled


@pytest.fixture
def vip(lists: Lists) -> Lists:
    """Those of a stream with an empty list."""
    lists.create()
    return lists


def told_and_done(change: Callable[[dict[str, Any]], Any]) -> Any:
    """Return the answer to a change, before which a dry run has told the same."""
    told, done = change({"dry_run": True}), change({})
    assert told.status_code == done.status_code, told.text
    if done.status_code == 200:
        names = ["is_changed", "withdrawn", "base_version", "new_count", "added", "removed"]
        names += ["first_added", "first_removed"]
        assert {name: told.json()[name] for name in names} == {
            name: done.json()[name] for name in names
        }
    return done


def do(service: Service, model: Model, path: str, step: Any) -> None:
    """Take one step in the service and in the model; both say whether it can be done."""
    days = step[-1] if step[0] in {"put", "change"} else None
    from_ms = None if days is None else START_MS + days * DAY_MS
    query: dict[str, Any] = {} if from_ms is None else {"effective_from": iso_text(from_ms)}

    def answered(method: str, place: str, body: Any) -> Any:
        request, where = service.client.request, f"{path}/{place}"
        return told_and_done(
            lambda dry: request(method, where, json=body, headers=ANY_STATE, params=query | dry)
        )

    match step:
        case ("put", values, _):
            answer = answered("PUT", "values", sorted(values))
            model.take(values, from_ms)
            assert answer.status_code == 200, answer.text
        case ("change", add, remove, _):
            answer = answered("POST", "changes", {"add": sorted(add), "remove": sorted(remove)})
            if (add & remove) or not (add | remove):
                assert answer.status_code == 422
                return
            before = model.base(from_ms)
            after = (before - remove) | add
            if after != before:
                model.take(after, from_ms)
            counts = (answer.json()["added"], answer.json()["removed"])
            assert counts == (len(after - before), len(before - after))
        case ("rollback", number):
            answer = answered("POST", "rollback", {"version": number})
            assert (answer.status_code == 200) == (number <= len(model.values))
            if number <= len(model.values):
                model.take(model.values[number - 1], None)
        case ("cancel", number):
            answer = service.send("POST", f"{path}/versions/{number}/cancel")
            assert (answer.status_code == 200) == model.cancel(number)
        case _:
            raise ValueError(step)


@slow_property()
@given(steps=st.lists(STEPS, max_size=6))
def test_a_list_is_what_was_done_to_it(module_service: Service, steps: list[Any]) -> None:
    service, model = module_service, Model()
    service.begin_with_stream()
    service.done("POST", LISTS, {"name": "vip"})
    for step in steps:
        do(service, model, VIP, step)
    (given,) = Snapshot.model_validate(service.snapshot()).lists
    assert [(each.version, each.effective_from_ms, each.digest) for each in given.versions] == [
        (number, from_ms, list_digest(list_content(model.values[number - 1])))
        for number, from_ms in model.published
    ]
    log = service.get(f"{VIP}/versions")["items"]
    assert [each["count"] for each in reversed(log)] == [len(each) for each in model.values]
    for number, values in enumerate(model.values, start=1):
        assert service.get(f"{VIP}/values", version=number)["items"] == sorted(values)


def test_of_writers_that_saw_the_same_state_exactly_one_wins(vip: Lists) -> None:
    seen = {"If-Match": vip.client.get(VIP).headers["ETag"]}

    def put(writer: int) -> int:
        return vip.service.send("PUT", f"{VIP}/values", [f"w{writer}"], **seen).status_code

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sorted(pool.map(put, range(WRITERS))) == [200, *[412] * (WRITERS - 1)]


def test_no_value_is_lost_that_one_of_several_writers_adds(vip: Lists) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        added = pool.map(lambda number: vip.change(add=[f"w{number}"]), range(4 * WRITERS))
        assert {answer.status_code for answer in added} == {200}
    shown = vip.read()
    assert (shown["count"], shown["version"]) == (4 * WRITERS, 4 * WRITERS + 1)
    log = vip.versions()
    assert [(each["added"], each["removed"]) for each in log[:-1]] == [(1, 0)] * (4 * WRITERS)


@pytest.mark.nightly
@pytest.mark.long
def test_a_million_values_are_put_and_changed(vip: Lists) -> None:
    values = [f"customer-{number:07}" for number in range(1_000_000)]
    body = "\n".join(values).encode()
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def timed(method: str, where: str, **request: Any) -> Any:
        began = time.perf_counter()
        answer = vip.client.request(method, f"{VIP}{where}", **request)
        assert answer.is_success, answer.text
        print(f"{method} {where}: {time.perf_counter() - began:.2f} s")  # noqa: T201 - with -s
        return answer

    headers = ANY_STATE | CSV
    assert timed("PUT", "/values", content=body, headers=headers).json()["count"] == 1_000_000
    edited = timed("POST", "/changes", json={"add": ["eve"], "remove": values[:2]}).json()
    assert (edited["count"], edited["added"], edited["removed"]) == (999_999, 1, 2)
    assert timed("GET", "/values?contains=99999").json()["items"][0] == "customer-0099999"
    whole = timed("GET", "/values?format=csv").content
    assert whole.count(b"\r\n") == 999_999
    digest = vip.versions()[1]["digest"]
    assert vip.client.get(f"{LISTS}/contents/{digest}").content == list_content(values)
    refused = vip.put_csv(body + b"\none more\n").json()
    assert "1,000,001 values" in refused["errors"][0]["detail"]
    used_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    print(f"{used_kb // 1_000} MB, of which the test's own body and values are about 150")  # noqa: T201
    assert used_kb < 2_000_000
