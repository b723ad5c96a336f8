"""Lists of a stream: created, filled, searched, rolled back, deleted; what jobs are given."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Response

from api.access.authentication import Role
from cep.list_content import list_content, list_digest
from contract.snapshot import Snapshot
from tests.api.documents import ANY_STATE
from tests.api.people import ask_for
from tests.api.running import ServiceUnderTest

LISTS = "/v1/streams/logins/lists"
VIP = f"{LISTS}/vip"
SOON = "2027-06-01T00:00:00Z"
SOON_MS = 1_811_808_000_000
CSV = {"Content-Type": "text/csv"}

Create = Callable[..., Response]


@pytest.fixture
def create(with_stream: ServiceUnderTest) -> Create:
    """Create a list of the stream `logins`, and put values."""

    def created(*values: Any, name: str = "vip", **document: Any) -> Response:
        answer = with_stream.client.post(LISTS, json={"name": name} | document)
        assert answer.status_code == 201, answer.text
        if values:
            answer = put(with_stream, list(values), name=name)
            assert answer.status_code == 200, answer.text
        return answer

    return created


def put(service: ServiceUnderTest, values: list[Any], name: str = "vip", **query: Any) -> Response:
    path = f"{LISTS}/{name}/values"
    return service.client.put(path, json=values, headers=ANY_STATE, params=query)


def put_csv(service: ServiceUnderTest, text: str | bytes, **query: Any) -> Response:
    headers = ANY_STATE | CSV
    return service.client.put(f"{VIP}/values", content=text, headers=headers, params=query)


def change(service: ServiceUnderTest, **changes: Any) -> Response:
    return service.client.post(f"{VIP}/changes", json=changes)


def values(service: ServiceUnderTest, name: str = "vip", **query: Any) -> Any:
    answer = service.client.get(f"{LISTS}/{name}/values", params={"limit": 500} | query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def snapshot(service: ServiceUnderTest) -> Snapshot:
    answer = service.client.get("/v1/streams/logins/snapshot")
    return Snapshot.model_validate_json(answer.content)


def versions(service: ServiceUnderTest) -> Any:
    return service.client.get(f"{VIP}/versions").json()["items"]


def test_a_list_is_created_filled_and_given_to_jobs(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    created = create(description="Called first.")
    assert created.headers["Location"] == VIP
    assert (created.json()["version"], created.json()["count"]) == (1, 0)
    answer = put(with_stream, ["eve", "ana", "eve"]).json()
    assert (answer["version"], answer["count"], answer["added"]) == (2, 2, 2)
    assert values(with_stream) == ["ana", "eve"]

    (given,) = snapshot(with_stream).lists
    (version,) = given.versions
    content = list_content(["ana", "eve"])
    assert (given.name, given.data_type) == ("vip", "STRING")
    assert (version.version, version.count, version.effective_from_ms) == (2, 2, None)
    assert version.digest == list_digest(content)


def test_jobs_fetch_contents_and_only_those_of_their_stream(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana", "eve")
    digest = snapshot(with_stream).lists[0].versions[0].digest
    job = with_stream.as_role(Role.JOB)
    path = f"/lists/contents/{digest}"
    plain = with_stream.client.get(
        f"/v1/streams/logins{path}", headers=job | {"Accept-Encoding": "identity"}
    )
    packed = with_stream.client.get(
        f"/v1/streams/logins{path}", headers=job | {"Accept-Encoding": "gzip;q=0.5, br"}
    )
    assert plain.content == packed.content == list_content(["ana", "eve"])
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert "immutable" in plain.headers["Cache-Control"]

    other = {"name": "other", "schema": "ts TIMESTAMP", "event_time_column": "ts"}
    assert with_stream.client.post("/v1/streams", json=other).status_code == 201
    assert with_stream.client.get(f"/v1/streams/other{path}", headers=job).status_code == 404
    assert with_stream.client.get(f"{LISTS}/contents/{'0' * 64}").status_code == 404


@pytest.mark.parametrize("name", ["contents", "lists", "values", "versions"])
def test_a_list_may_be_called_as_a_part_of_an_address(
    with_stream: ServiceUnderTest, create: Create, name: str
) -> None:
    create("ana", name=name)
    assert values(with_stream, name) == ["ana"]
    assert with_stream.client.get(f"{LISTS}/{name}/versions").status_code == 200


def test_each_change_is_an_epoch_and_old_epochs_stay_as_they_were(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    before = with_stream.client.get("/v1/streams/logins/snapshot")
    create("ana")
    path = "/v1/streams/logins/epochs"
    then = with_stream.client.get("/v1/streams/logins/snapshot").content
    assert b"lists" not in before.content
    change(with_stream, add=["eve"])
    with_stream.client.delete(VIP, headers=ANY_STATE)

    assert with_stream.client.get(f"{path}/1").content == before.content
    assert with_stream.client.get(f"{path}/3").content == then
    now = with_stream.client.get("/v1/streams/logins/snapshot")
    assert json.loads(now.content)["epoch"] == 5
    assert b"lists" not in now.content
    log = with_stream.client.get("/v1/changes", params={"stream": "logins"}).json()["items"]
    told = [(each["action"], each["subject"], each["epoch"]) for each in reversed(log)]
    assert told[1:] == [
        ("list.create", "vip", 2),
        ("list.change", "vip: 1 added, 0 removed", 3),
        ("list.change", "vip: 1 added, 0 removed", 4),
        ("list.delete", "vip", 5),
    ]


def test_values_are_added_and_removed(with_stream: ServiceUnderTest, create: Create) -> None:
    create("ana", "eve")
    answer = change(with_stream, add=["bob", "ana"], remove=["eve", "nobody"]).json()
    assert (answer["added"], answer["removed"]) == (1, 1)
    assert (answer["first_added"], answer["first_removed"]) == (["bob"], ["eve"])
    assert values(with_stream) == ["ana", "bob"]
    assert change(with_stream, add=["ana"]).json()["is_changed"] is False
    assert put(with_stream, ["bob", "ana"]).json()["is_changed"] is False
    assert [each["version"] for each in versions(with_stream)] == [3, 2, 1]


def test_a_change_names_the_state_it_was_made_from(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    seen = with_stream.client.get(VIP).headers["ETag"]
    path = f"{VIP}/values"
    assert with_stream.client.put(path, json=["eve"]).status_code == 428
    assert with_stream.client.put(path, json=["eve"], headers={"If-Match": seen}).status_code == 200
    for method, path, body in (
        ("PUT", f"{VIP}/values", ["x"]),
        ("POST", f"{VIP}/changes", {"add": ["x"]}),
        ("POST", f"{VIP}/rollback", {"version": 1}),
        ("PATCH", VIP, {"description": "x"}),
        ("DELETE", VIP, None),
    ):
        answer = with_stream.client.request(method, path, json=body, headers={"If-Match": seen})
        assert answer.status_code == 412, path
    assert values(with_stream) == ["eve"]


@pytest.mark.parametrize(
    ("data_type", "text", "found"),
    [
        ("STRING", 'ana\r\n"b, ""c"""\r\n\n eve \n', [" eve ", "ana", 'b, "c"']),
        ("STRING", '\ufeffané\n"two\nlines"', ["ané", "two\nlines"]),
        ("BIGINT", f"10\n9\n -3\n{2**63 - 1}\n", ["-3", "9", "10", f"{2**63 - 1}"]),
        ("DATE", "2024-02-29\n2023-01-01\n", ["2023-01-01", "2024-02-29"]),
    ],
)
def test_csv_goes_in_and_comes_out(
    with_stream: ServiceUnderTest, create: Create, data_type: str, text: str, found: list[str]
) -> None:
    create(type=data_type)
    assert put_csv(with_stream, text).status_code == 200
    assert values(with_stream) == found
    whole = with_stream.client.get(f"{VIP}/values", headers={"Accept": "text/csv"})
    assert whole.headers["Content-Disposition"] == 'attachment; filename="vip-2.csv"'
    assert put(with_stream, []).json()["removed"] == len(found)
    assert put_csv(with_stream, whole.content).json()["count"] == len(found)
    assert values(with_stream) == found


def test_the_first_line_may_be_the_name_of_the_column(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create()
    assert put_csv(with_stream, "user\nana\n", header=True).json()["count"] == 1
    assert values(with_stream) == ["ana"]


def test_bad_lines_are_told_with_their_numbers_and_nothing_is_taken(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create(7, type="BIGINT")
    text = "1\n\nx\n2,3\n" + "4\n" * 100 + f"{2**63}\n"
    answer = put_csv(with_stream, text)
    assert answer.status_code == 422
    told = [(each["line"], each["detail"]) for each in answer.json()["errors"]]
    assert told == [
        (3, "'x' is no BIGINT, a whole number of up to 64 bits."),
        (4, "2 columns; a list has one."),
        (105, f"'{2**63}' is no BIGINT, a whole number of up to 64 bits."),
    ]
    many = put_csv(with_stream, "x\n" * 250)
    assert len(many.json()["errors"]) == 100
    assert "250 problems, of which 100" in many.json()["detail"]
    assert values(with_stream) == ["7"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b'"open\n', "unexpected end of data"),
        (b'""\n', "An empty text is no value"),
        (b"a\x00b\n", "NUL"),
        (b"x" * 1_001, "1,001 characters"),
        (b"x" * 200_000, "field larger than"),
    ],
)
def test_what_is_no_csv_is_refused(
    with_stream: ServiceUnderTest, create: Create, body: bytes, told: str
) -> None:
    create()
    answer = put_csv(with_stream, body)
    assert answer.status_code in {400, 422}
    assert told in answer.json()["errors"][0]["detail"]
    assert answer.json()["errors"][0]["line"] == 1


@pytest.mark.parametrize(
    ("data_type", "body", "pointer"),
    [
        ("STRING", [1], "/0"),
        ("STRING", ["a", None], "/1"),
        ("STRING", ["a", ["b"]], "/1"),
        ("BIGINT", [1, True], "/1"),
        ("BIGINT", [1.5], "/0"),
        ("BIGINT", [2**64], "/0"),
        ("DATE", ["2024-02-30"], "/0"),
        ("STRING", {"values": []}, ""),
    ],
)
def test_json_of_another_type_is_refused(
    with_stream: ServiceUnderTest, create: Create, data_type: str, body: Any, pointer: str
) -> None:
    create(type=data_type)
    answer = put(with_stream, body)
    assert answer.status_code == 422
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]


def test_json_may_hold_whole_numbers_as_texts(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create(12, "13", type="BIGINT")
    assert values(with_stream) == ["12", "13"]
    assert change(with_stream, add=["14"], remove=[12]).json()["count"] == 2
    assert change(with_stream, add=["x"]).json()["errors"][0]["pointer"] == "/add/0"


def test_another_kind_of_body_is_refused(with_stream: ServiceUnderTest, create: Create) -> None:
    create()
    headers = ANY_STATE | {"Content-Type": "text/plain"}
    answer = with_stream.client.put(f"{VIP}/values", content="ana", headers=headers)
    assert answer.status_code == 415
    assert "text/csv" in answer.json()["detail"]
    headers = ANY_STATE | {"Content-Type": "application/json"}
    answer = with_stream.client.put(f"{VIP}/values", content="[1,", headers=headers)
    assert answer.status_code == 400


def test_only_this_route_takes_long_bodies(with_stream: ServiceUnderTest, create: Create) -> None:
    create()
    long = json.dumps(["x" * 900 + str(number) for number in range(3_000)])
    answer = with_stream.client.put(
        f"{VIP}/values", content=long, headers=ANY_STATE | {"Content-Type": "application/json"}
    )
    assert answer.json()["count"] == 3_000
    answer = with_stream.client.post(
        f"{VIP}/changes", content=long, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413
    too_long = b"x" * 32_000_001
    answer = put_csv(with_stream, too_long)
    assert (answer.status_code, "32000000" in answer.json()["detail"]) == (413, True)


def test_values_are_searched_and_paged(with_stream: ServiceUnderTest, create: Create) -> None:
    create(*(f"u{number:03}" for number in range(250)))
    assert values(with_stream, prefix="u01") == [f"u01{digit}" for digit in range(10)]
    assert values(with_stream, contains="49") == ["u049", "u149", "u249"]
    assert values(with_stream, prefix="u1", contains="00") == ["u100"]
    first = with_stream.client.get(f"{VIP}/values", params={"limit": 100}).json()
    change(with_stream, remove=["u100"], add=["a"])
    cursor, found = first["next_cursor"], first["items"]
    while cursor is not None:
        page = with_stream.client.get(f"{VIP}/values", params={"limit": 100, "cursor": cursor})
        assert page.json()["version"] == first["version"]
        found += page.json()["items"]
        cursor = page.json()["next_cursor"]
    assert found == [f"u{number:03}" for number in range(250)]
    assert len(values(with_stream, version=2)) == 250
    assert "u100" not in values(with_stream)


def test_a_scheduled_version_waits_and_a_change_at_once_takes_its_place(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    assert put(with_stream, ["eve"], effective_from=SOON).json()["withdrawn"] == []
    given = snapshot(with_stream).lists[0].versions
    assert [(each.version, each.effective_from_ms) for each in given] == [(2, None), (3, SOON_MS)]
    later = change(with_stream, add=["bob"]).json()
    assert (later["withdrawn"], later["base_version"]) == ([3], 2)
    assert values(with_stream) == ["ana", "bob"]


def test_what_is_added_later_is_added_to_what_will_be_there(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    put(with_stream, ["eve"], effective_from=SOON)
    query = {"effective_from": "2027-07-01T00:00:00Z"}
    answer = with_stream.client.post(f"{VIP}/changes", json={"add": ["bob"]}, params=query)
    assert (answer.json()["base_version"], answer.json()["count"]) == (3, 2)
    assert values(with_stream) == ["bob", "eve"]
    cancelled = with_stream.client.post(f"{VIP}/versions/3/cancel", headers=ANY_STATE).json()
    assert [each["version"] for each in cancelled["published"]] == [2, 4]
    for version, status in ((3, 409), (2, 409), (4, 200)):
        path = f"{VIP}/versions/{version}/cancel"
        assert with_stream.client.post(path, headers=ANY_STATE).status_code == status


def test_no_more_versions_are_scheduled_than_jobs_should_hold(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create()
    for day in range(1, 21):
        answer = put(with_stream, [f"v{day}"], effective_from=f"2027-06-{day:02}T00:00:00Z")
        assert answer.status_code == (200 if day < 20 else 409)


def test_a_list_is_rolled_back_while_its_values_are_kept(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    for number in range(20):
        assert change(with_stream, add=[f"u{number}"]).status_code == 200
    log = versions(with_stream)
    assert [each["version"] for each in log if not each["has_values"]] == [2, 1]

    def roll_back(version: int) -> Response:
        path = f"{VIP}/rollback"
        return with_stream.client.post(path, json={"version": version}, headers=ANY_STATE)

    assert roll_back(2).status_code == 409
    assert "kept no longer" in roll_back(2).json()["detail"]
    assert with_stream.client.get(f"{VIP}/values?version=2").status_code == 409
    assert roll_back(99).status_code == 404
    answer = roll_back(3).json()
    assert (answer["version"], answer["removed"]) == (23, 19)
    assert values(with_stream) == ["ana", "u0"]
    assert versions(with_stream)[0]["restored_version"] == 3


def test_contents_that_nothing_needs_are_removed(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    old = snapshot(with_stream).lists[0].versions[0].digest
    create("ana", name="same")
    for number in range(25):
        change(with_stream, add=[f"u{number}"])
    assert with_stream.client.get(f"{LISTS}/contents/{old}").status_code == 200
    with_stream.client.delete(f"{LISTS}/same", headers=ANY_STATE)
    assert with_stream.client.get(f"{LISTS}/contents/{old}").status_code == 404


def test_a_deleted_list_may_be_created_again_with_another_type(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    assert with_stream.client.delete(VIP, headers=ANY_STATE).status_code == 204
    assert with_stream.client.get(VIP).status_code == 404
    assert with_stream.client.get(LISTS).json()["items"] == []
    create(5, type="BIGINT")
    assert snapshot(with_stream).lists[0].versions[0].version == 4
    answer = with_stream.client.post(f"{VIP}/rollback", json={"version": 2}, headers=ANY_STATE)
    assert (answer.status_code, "STRING" in answer.json()["detail"]) == (409, True)
    assert [each["count"] for each in versions(with_stream)] == [1, 0, 1, 0]


def test_a_name_is_taken_once(with_stream: ServiceUnderTest, create: Create) -> None:
    create()
    assert with_stream.client.post(LISTS, json={"name": "vip"}).status_code == 409
    for name in ("", "a b", "../x", "<b>", "é", "x" * 101, "a'b"):
        assert with_stream.client.post(LISTS, json={"name": name}).status_code == 422


def test_a_dry_run_tells_and_changes_nothing(with_stream: ServiceUnderTest, create: Create) -> None:
    create("ana")
    before = with_stream.client.get("/v1/streams/logins").json()["epoch"]
    told = put(with_stream, ["eve", "bob"], dry_run=True).json()
    assert (told["added"], told["removed"], told["new_count"], told["count"]) == (2, 1, 2, 1)
    assert (told["first_added"], told["is_changed"]) == (["bob", "eve"], True)
    assert with_stream.client.get("/v1/streams/logins").json()["epoch"] == before
    assert values(with_stream) == ["ana"]


def test_descriptions_make_neither_version_nor_epoch(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create()
    told = with_stream.client.patch(VIP, json={"description": "<b>"}, headers=ANY_STATE).json()
    assert (told["description"], told["version"]) == ("<b>", 1)
    assert snapshot(with_stream).epoch == 2


def test_roles(with_stream: ServiceUnderTest, create: Create) -> None:
    create("ana")
    digest = versions(with_stream)[0]["digest"]
    allowed = {
        ("GET", LISTS): {Role.VIEWER, Role.AUTHOR, Role.PUBLISHER, Role.ADMIN},
        ("GET", f"{VIP}/values"): {Role.VIEWER, Role.AUTHOR, Role.PUBLISHER, Role.ADMIN},
        ("GET", f"{LISTS}/contents/{digest}"): set(Role),
        ("PATCH", VIP): {Role.AUTHOR, Role.PUBLISHER, Role.ADMIN},
        ("PUT", f"{VIP}/values"): {Role.PUBLISHER, Role.ADMIN},
        ("POST", f"{VIP}/changes"): {Role.PUBLISHER, Role.ADMIN},
        ("POST", f"{VIP}/rollback"): {Role.PUBLISHER, Role.ADMIN},
        ("POST", f"{VIP}/versions/1/cancel"): {Role.PUBLISHER, Role.ADMIN},
        ("POST", LISTS): {Role.PUBLISHER, Role.ADMIN},
        ("DELETE", f"{LISTS}/none"): {Role.PUBLISHER, Role.ADMIN},
    }
    for (method, path), roles in allowed.items():
        for role in Role:
            headers = with_stream.as_role(role) | ANY_STATE
            answer = with_stream.client.request(method, path, headers=headers)
            assert (answer.status_code != 403) == (role in roles), (method, path, role)


def test_changes_are_refused_where_the_stream_asks_for_approvals(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    put(with_stream, ["eve"], effective_from=SOON)
    ask_for(with_stream, 1)
    create(name="another")  # nothing runs by it
    for answer in (
        put(with_stream, ["eve"]),
        change(with_stream, add=["eve"]),
        with_stream.client.post(f"{VIP}/rollback", json={"version": 1}, headers=ANY_STATE),
        with_stream.client.post(f"{VIP}/versions/3/cancel", headers=ANY_STATE),
        with_stream.client.delete(VIP, headers=ANY_STATE),
    ):
        assert answer.status_code == 403
        assert "approved by 1 person" in answer.json()["detail"]
        assert "POST /v1/proposals" in answer.json()["detail"]
    assert put(with_stream, ["eve"], dry_run=True).json()["added"] == 1
    assert len(versions(with_stream)) == 3


def test_lists_are_left_to_publishers_where_the_stream_says_so(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana")
    path = "/v1/streams/logins/approvals"
    setting = {"required": 1, "lists": False}
    told = with_stream.client.put(path, json=setting, headers=ANY_STATE)
    assert told.json()["lists_need_approvals"] is False
    assert put(with_stream, ["eve"]).is_success
    again = with_stream.client.put(
        path, json={"required": 1}, headers={"If-Match": told.headers["ETag"]}
    )
    assert again.json()["lists_need_approvals"] is True
    assert put(with_stream, ["bob"]).status_code == 403
    subjects = [
        each["subject"]
        for each in with_stream.client.get("/v1/changes").json()["items"]
        if each["action"] == "stream.approvals"
    ]
    assert subjects == ["1, before 1 (not for lists)", "1 (not for lists), before 0"]


def test_lists_are_counted(with_stream: ServiceUnderTest, create: Create) -> None:
    create("ana", "eve")
    told = with_stream.client.get("/metrics").text
    assert 'percept_list_values{list="vip",stream="logins"} 2.0' in told
    assert 'percept_list_versions{list="vip",stream="logins"} 2.0' in told


def test_lines_of_lists_say_what_jobs_are_given(
    with_stream: ServiceUnderTest, create: Create
) -> None:
    create("ana", "eve")
    create(name="offices")
    assert put(with_stream, ["bob"], effective_from=SOON).status_code == 200
    offices, vip = with_stream.client.get(LISTS).json()["items"]
    assert [(each["version"], each["count"]) for each in offices["published"]] == [(1, 0)]
    given = [(each["version"], each["count"]) for each in vip["published"]]
    assert given == [(2, 2), (3, 1)]
    shown = with_stream.client.get(VIP).json()
    assert {name: shown[name] for name in vip} == vip
