"""Lists of a stream: created, filled, searched, rolled back, deleted; what jobs are given."""

from typing import Any

import pytest
from httpx2 import Response

from cep.list_content import list_content, list_digest
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE
from tests.api.lists import LISTS, VIP, Lists
from tests.api.people import ask_for

SOON = "2027-06-01T00:00:00Z"
SOON_MS = 1_811_808_000_000


def test_a_list_is_created_filled_given_to_jobs_and_counted(lists: Lists) -> None:
    created = lists.create(description="Called first.")
    assert created.headers["Location"] == VIP
    assert (created.json()["version"], created.json()["count"]) == (1, 0)
    answer = lists.put(["eve", "ana", "eve"]).json()
    assert (answer["version"], answer["count"], answer["added"]) == (2, 2, 2)
    assert lists.values() == ["ana", "eve"]
    (given,) = lists.snapshot().lists
    (version,) = given.versions
    assert (given.name, given.data_type) == ("vip", "STRING")
    assert (version.version, version.count, version.effective_from_ms) == (2, 2, None)
    assert version.digest == list_digest(list_content(["ana", "eve"]))
    told = lists.client.get("/metrics").text
    for name in ("values", "versions"):
        assert f'percept_list_{name}{{list="vip",stream="logins"}} 2.0' in told


def test_jobs_fetch_contents_and_only_those_of_their_stream(lists: Lists) -> None:
    lists.create("ana", "eve")
    path = f"/lists/contents/{lists.snapshot().lists[0].versions[0].digest}"

    def fetched(stream: str = "logins", **headers: str) -> Response:
        own = lists.service.as_role(Role.JOB) | headers
        return lists.client.get(f"/v1/streams/{stream}{path}", headers=own)

    plain = fetched(**{"Accept-Encoding": "identity"})
    packed = fetched(**{"Accept-Encoding": "gzip;q=0.5, br"})
    assert plain.content == packed.content == list_content(["ana", "eve"])
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert "immutable" in plain.headers["Cache-Control"]
    other = {"name": "other", "schema": "ts TIMESTAMP", "event_time_column": "ts"}
    lists.service.done("POST", "/v1/streams", other)
    assert fetched("other").status_code == 404
    lists.service.get(f"{LISTS}/contents/{'0' * 64}", Role.JOB, expect=404)


def test_a_name_is_taken_once_also_one_that_is_a_part_of_an_address(lists: Lists) -> None:
    for name in ("vip", "contents", "lists", "values", "versions"):
        lists.create("ana", name=name)
        assert lists.values(name) == ["ana"]
        lists.service.get(f"{LISTS}/{name}/versions")
        lists.service.post(LISTS, Role.ADMIN, {"name": name}, expect=409)
    for name in ("", "a b", "../x", "<b>", "é", "x" * 101, "a'b"):
        lists.service.post(LISTS, Role.ADMIN, {"name": name}, expect=422)


def test_each_change_is_an_epoch_and_old_epochs_stay_as_they_were(lists: Lists) -> None:
    snapshot, epochs = "/v1/streams/logins/snapshot", "/v1/streams/logins/epochs"
    before = lists.client.get(snapshot).content
    lists.create("ana")
    then = lists.client.get(snapshot).content
    assert b"lists" not in before
    lists.change(add=["eve"])
    lists.delete()
    assert lists.client.get(f"{epochs}/1").content == before
    assert lists.client.get(f"{epochs}/3").content == then
    now = lists.service.snapshot()
    assert (now["epoch"], "lists" in now) == (5, False)
    log = lists.service.log(stream="logins")
    told = [(each["action"], each["subject"], each["epoch"]) for each in reversed(log)]
    assert told[1:] == [
        ("list.create", "vip", 2),
        ("list.change", "vip: 1 added, 0 removed", 3),
        ("list.change", "vip: 1 added, 0 removed", 4),
        ("list.delete", "vip", 5),
    ]


def test_values_are_added_and_removed(lists: Lists) -> None:
    lists.create("ana", "eve")
    answer = lists.change(add=["bob", "ana"], remove=["eve", "nobody"]).json()
    assert (answer["added"], answer["removed"]) == (1, 1)
    assert (answer["first_added"], answer["first_removed"]) == (["bob"], ["eve"])
    assert lists.values() == ["ana", "bob"]
    assert lists.change(add=["ana"]).json()["is_changed"] is False
    assert lists.put(["bob", "ana"]).json()["is_changed"] is False
    assert [each["version"] for each in lists.versions()] == [3, 2, 1]


def test_a_change_names_the_state_it_was_made_from(lists: Lists) -> None:
    lists.create("ana")
    seen = {"If-Match": lists.client.get(VIP).headers["ETag"]}
    assert lists.client.put(f"{VIP}/values", json=["eve"]).status_code == 428
    assert lists.client.put(f"{VIP}/values", json=["eve"], headers=seen).status_code == 200
    for method, path, body in (
        ("PUT", f"{VIP}/values", ["x"]),
        ("POST", f"{VIP}/changes", {"add": ["x"]}),
        ("POST", f"{VIP}/rollback", {"version": 1}),
        ("PATCH", VIP, {"description": "x"}),
        ("DELETE", VIP, None),
    ):
        assert lists.service.send(method, path, body, **seen).status_code == 412, path
    assert lists.values() == ["eve"]


@pytest.mark.parametrize(
    ("data_type", "text", "found"),
    [
        ("STRING", 'ana\r\n"b, ""c"""\r\n\n eve \n', [" eve ", "ana", 'b, "c"']),
        ("STRING", '\ufeffané\n"two\nlines"', ["ané", "two\nlines"]),
        ("STRING", "=1+1\n'-1+1\n''@a\n-1\n", ["'@a", "-1", "-1+1", "=1+1"]),
        ("BIGINT", f"10\n9\n -3\n{2**63 - 1}\n", ["-3", "9", "10", f"{2**63 - 1}"]),
        ("DATE", "2024-02-29\n2023-01-01\n", ["2023-01-01", "2024-02-29"]),
    ],
)
def test_csv_goes_in_and_comes_out(
    lists: Lists, data_type: str, text: str, found: list[str]
) -> None:
    lists.create(type=data_type)
    assert lists.put_csv(text).status_code == 200
    assert lists.values() == found
    whole = lists.client.get(f"{VIP}/values", headers={"Accept": "text/csv"})
    assert whole.headers["Content-Disposition"] == 'attachment; filename="vip-2.csv"'
    assert not any(line.startswith(("=", "@")) for line in whole.text.splitlines())
    assert lists.put([]).json()["removed"] == len(found)
    assert lists.put_csv(whole.content).json()["count"] == len(found)
    assert lists.values() == found


def test_the_first_line_of_csv_may_be_a_name_and_json_may_hold_numbers_as_texts(
    lists: Lists,
) -> None:
    lists.create(12, "13", type="BIGINT")
    assert lists.values() == ["12", "13"]
    assert lists.change(add=["14"], remove=[12]).json()["count"] == 2
    assert lists.change(add=["x"]).json()["errors"][0]["pointer"] == "/add/0"
    assert lists.put_csv("user\n7\n", header=True).json()["count"] == 1
    assert lists.values() == ["7"]


def test_bad_lines_are_told_with_their_numbers_and_nothing_is_taken(lists: Lists) -> None:
    lists.create(7, type="BIGINT")
    text = "1\n\nx\n2,3\n" + "4\n" * 100 + f"{2**63}\n"
    answer = lists.put_csv(text)
    assert answer.status_code == 422
    told = [(each["line"], each["detail"]) for each in answer.json()["errors"]]
    assert told == [
        (3, "'x' is no BIGINT, a whole number of up to 64 bits."),
        (4, "2 columns; a list has one."),
        (105, f"'{2**63}' is no BIGINT, a whole number of up to 64 bits."),
    ]
    many = lists.put_csv("x\n" * 250)
    assert len(many.json()["errors"]) == 100
    assert "250 problems, of which 100" in many.json()["detail"]
    assert lists.values() == ["7"]


def test_what_is_no_csv_is_refused(lists: Lists) -> None:
    lists.create()
    for body, told in (
        (b"\xff\xfe", "not UTF-8"),
        (b'"open\n', "unexpected end of data"),
        (b'""\n', "An empty text is no value"),
        (b"a\x00b\n", "NUL"),
        (b"x" * 1_001, "1,001 characters"),
        (b"x" * 200_000, "field larger than"),
    ):
        answer = lists.put_csv(body)
        assert answer.status_code in {400, 422}
        assert told in answer.json()["errors"][0]["detail"]
        assert answer.json()["errors"][0]["line"] == 1


def test_json_of_another_type_is_refused(lists: Lists) -> None:
    kinds = ("STRING", "BIGINT", "DATE")
    for kind in kinds:
        lists.create(name=kind, type=kind)
    bodies: list[tuple[str, Any, str]] = [
        ("STRING", [1], "/0"),
        ("STRING", ["a", None], "/1"),
        ("STRING", ["a", ["b"]], "/1"),
        ("BIGINT", [1, True], "/1"),
        ("BIGINT", [1.5], "/0"),
        ("BIGINT", [2**64], "/0"),
        ("DATE", ["2024-02-30"], "/0"),
        ("STRING", {"values": []}, ""),
    ]
    for kind, body, pointer in bodies:
        answer = lists.put(body, name=kind)
        assert answer.status_code == 422, body
        assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]


def test_only_values_are_long_and_another_kind_of_body_is_refused(lists: Lists) -> None:
    lists.create()
    for kind, content, status in (("text/plain", "ana", 415), ("application/json", "[1,", 400)):
        headers = ANY_STATE | {"Content-Type": kind}
        answer = lists.client.put(f"{VIP}/values", content=content, headers=headers)
        assert answer.status_code == status
        assert "text/csv" in answer.json()["detail"] or status == 400
    long = ["x" * 900 + str(number) for number in range(3_000)]
    assert lists.put(long).json()["count"] == 3_000
    assert lists.change(add=long).status_code == 413
    answer = lists.put_csv(b"x" * 32_000_001)
    assert (answer.status_code, "32000000" in answer.json()["detail"]) == (413, True)


def test_values_are_searched_and_paged(lists: Lists) -> None:
    every = [f"u{number:03}" for number in range(250)]
    lists.create(*every)
    assert lists.values(prefix="u01") == [f"u01{digit}" for digit in range(10)]
    assert lists.values(contains="49") == ["u049", "u149", "u249"]
    assert lists.values(prefix="u1", contains="00") == ["u100"]
    pages = lists.service.pages(f"{VIP}/values", limit=100)
    first = next(pages)
    lists.change(remove=["u100"], add=["a"])
    rest = list(pages)
    assert {page["version"] for page in rest} == {first["version"]}
    assert [value for page in (first, *rest) for value in page["items"]] == every
    assert len(lists.values(version=2)) == 250
    assert "u100" not in lists.values()


def test_a_scheduled_version_waits_and_a_change_at_once_takes_its_place(lists: Lists) -> None:
    lists.create("ana")
    assert lists.put(["eve"], effective_from=SOON).json()["withdrawn"] == []
    given = lists.snapshot().lists[0].versions
    assert [(each.version, each.effective_from_ms) for each in given] == [(2, None), (3, SOON_MS)]
    later = lists.change(add=["bob"]).json()
    assert (later["withdrawn"], later["base_version"]) == ([3], 2)
    assert lists.values() == ["ana", "bob"]


def test_what_is_added_later_is_added_to_what_will_be_there_up_to_a_bound(lists: Lists) -> None:
    lists.create("ana")
    lists.put(["eve"], effective_from=SOON)
    answer = lists.change("?effective_from=2027-07-01T00:00:00Z", add=["bob"]).json()
    assert (answer["base_version"], answer["count"]) == (3, 2)
    assert lists.values() == ["bob", "eve"]
    assert [each["version"] for each in lists.cancel(3).json()["published"]] == [2, 4]
    assert [lists.cancel(version).status_code for version in (3, 2, 4)] == [409, 409, 200]
    for day in range(1, 21):
        answer = lists.put([f"v{day}"], effective_from=f"2027-06-{day:02}T00:00:00Z")
        assert answer.status_code == (200 if day < 20 else 409)


def test_a_list_is_rolled_back_while_its_values_are_kept(lists: Lists) -> None:
    lists.create("ana")
    for number in range(20):
        assert lists.change(add=[f"u{number}"]).status_code == 200
    log = lists.versions()
    assert [each["version"] for each in log if not each["has_values"]] == [2, 1]
    refused = lists.roll_back(2)
    assert refused.status_code == 409
    assert "kept no longer" in refused.json()["detail"]
    lists.service.get(f"{VIP}/values?version=2", expect=409)
    assert lists.roll_back(99).status_code == 404
    answer = lists.roll_back(3).json()
    assert (answer["version"], answer["removed"]) == (23, 19)
    assert lists.values() == ["ana", "u0"]
    assert lists.versions()[0]["restored_version"] == 3


def test_contents_that_nothing_needs_are_removed(lists: Lists) -> None:
    lists.create("ana")
    path = f"{LISTS}/contents/{lists.snapshot().lists[0].versions[0].digest}"
    lists.create("ana", name="same")
    for number in range(25):
        lists.change(add=[f"u{number}"])
    assert lists.client.get(path).status_code == 200
    lists.delete("same")
    assert lists.client.get(path).status_code == 404


def test_a_deleted_list_may_be_created_again_with_another_type(lists: Lists) -> None:
    lists.create("ana")
    assert lists.delete().status_code == 204
    lists.service.get(VIP, expect=404)
    assert lists.service.get(LISTS)["items"] == []
    lists.create(5, type="BIGINT")
    assert lists.snapshot().lists[0].versions[0].version == 4
    answer = lists.roll_back(2)
    assert (answer.status_code, "STRING" in answer.json()["detail"]) == (409, True)
    assert [each["count"] for each in lists.versions()] == [1, 0, 1, 0]


def test_a_dry_run_and_a_description_make_neither_version_nor_epoch(lists: Lists) -> None:
    lists.create("ana")
    before = lists.service.epoch()
    told = lists.put(["eve", "bob"], dry_run=True).json()
    assert (told["added"], told["removed"], told["new_count"], told["count"]) == (2, 1, 2, 1)
    assert (told["first_added"], told["is_changed"]) == (["bob", "eve"], True)
    told = lists.service.done("PATCH", VIP, {"description": "<b>"})
    assert (told["description"], told["version"]) == ("<b>", 2)
    assert lists.service.epoch() == before
    assert lists.values() == ["ana"]


def test_changes_are_refused_where_the_stream_asks_for_approvals(lists: Lists) -> None:
    lists.create("ana")
    lists.put(["eve"], effective_from=SOON)
    ask_for(lists.service, 1)
    lists.create(name="another")  # nothing runs by it
    for answer in (
        lists.put(["eve"]),
        lists.change(add=["eve"]),
        lists.roll_back(1),
        lists.cancel(3),
        lists.delete(),
    ):
        assert answer.status_code == 403
        assert "approved by 1 person" in answer.json()["detail"]
        assert "POST /v1/proposals" in answer.json()["detail"]
    assert lists.put(["eve"], dry_run=True).json()["added"] == 1
    assert len(lists.versions()) == 3


def test_lists_are_left_to_publishers_where_the_stream_says_so(lists: Lists) -> None:
    lists.create("ana")
    path = "/v1/streams/logins/approvals"
    told = lists.service.send("PUT", path, {"required": 1, "lists": False})
    assert told.json()["lists_need_approvals"] is False
    assert lists.put(["eve"]).is_success
    seen = {"If-Match": told.headers["ETag"]}
    again = lists.service.send("PUT", path, {"required": 1}, **seen)
    assert again.json()["lists_need_approvals"] is True
    assert lists.put(["bob"]).status_code == 403
    subjects = [each["subject"] for each in lists.service.log(action="stream.approvals")]
    assert subjects == ["1, before 1 (not for lists)", "1 (not for lists), before 0"]


def test_lines_of_lists_say_what_jobs_are_given(lists: Lists) -> None:
    lists.create("ana", "eve")
    lists.create(name="offices")
    assert lists.put(["bob"], effective_from=SOON).status_code == 200
    given = [
        [(each["version"], each["count"]) for each in line["published"]]
        for line in lists.service.get(LISTS)["items"]
    ]
    assert given == [[(1, 0)], [(2, 2), (3, 1)]]
    assert lists.read().items() >= lists.service.get(LISTS)["items"][1].items()
