"""Parameters of a rule: PATCH …/parameters, `Client.set_parameters`, `percept set`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from typer.testing import CliRunner

from api.client import Client, Invalid, Outdated
from contract.service.tokens import Role
from percept.command_line import app
from tests.api.commands import Run
from tests.api.documents import PATTERN, processor_document
from tests.api.people import ask_for
from tests.api.running import Publish, ServiceUnderTest

COMMAND = ("set",)
ID = "failed-logins"
PATH = f"/v1/processors/{ID}"
PARAMETERS: dict[str, Any] = {
    "least": {"type": "DOUBLE", "value": 100, "min": 0, "max": 1000},
    "action": {"type": "STRING", "value": "fail", "values": ["fail", "it's"]},
    "factor": {"type": "BIGINT", "value": 2},
}
STEPS = [
    {"name": "fail", "where": "action = :action AND amount > :least", "times": 3},
    {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
]
WITH_PARAMETERS = {"parameters": PARAMETERS, "steps": STEPS, "within": "10 minutes"}
SELECT = {"twice": "SUM(fail.amount) * :factor"}
Set = Callable[..., Response]


@pytest.fixture
def send(with_stream: ServiceUnderTest, publish: Publish) -> Set:
    """Publish a rule with parameters; returns what sends new values."""
    publish(pattern=WITH_PARAMETERS, select=SELECT, tags=["a"])

    def sent(if_match: str | None = "*", role: Role = Role.ADMIN, **values: Any) -> Response:
        token = with_stream.token_of[role]
        headers = {"Authorization": f"Bearer {token}"}
        headers |= {} if if_match is None else {"If-Match": if_match}
        client = with_stream.client
        return client.patch(f"{PATH}/parameters", json=values, headers=headers)

    return sent


def definition_in_snapshot(service: ServiceUnderTest) -> Any:
    shown = service.client.get("/v1/streams/logins/snapshot").json()
    return shown["processors"][0]["versions"][0]["definition"]


def test_another_value_is_another_version_with_all_else_unchanged(
    with_stream: ServiceUnderTest, send: Set
) -> None:
    before = definition_in_snapshot(with_stream)
    answer = send(least=120, action="it's")
    assert (answer.status_code, answer.json()["version"]) == (200, 2)
    assert answer.json()["tags"] == ["a"]
    now = definition_in_snapshot(with_stream)
    values = {name: each["value"] for name, each in now["pattern"]["parameters"].items()}
    assert values == {"least": 120, "action": "it's", "factor": 2}
    for name, value in {"least": 100, "action": "fail"}.items():
        now["pattern"]["parameters"][name]["value"] = value
    assert now == before


def test_equal_values_make_no_version(send: Set) -> None:
    assert send(least=100.0).json()["version"] == 1


@pytest.mark.parametrize(
    ("values", "pointer", "told"),
    [
        ({"least": -1}, "/least", "below the minimum"),
        ({"least": 1001}, "/least", "above the maximum"),
        ({"least": "100"}, "/least", "not a number"),
        ({"action": "other"}, "/action", "none of"),
        ({"factor": 2.5}, "/factor", "not a whole number"),
        ({"factor": 2**62 * 2 - 1, "lest": 1}, "/lest", "no parameter lest"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(
    with_stream: ServiceUnderTest, send: Set, values: dict[str, Any], pointer: str, told: str
) -> None:
    answer = send(**values)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"] == pointer
    assert told in error["detail"]
    assert with_stream.client.get(PATH).json()["version"] == 1


def test_a_parameter_of_a_near_name_is_suggested(send: Set) -> None:
    assert "least" in send(lest=1).json()["errors"][0]["remedy"]


def test_a_change_names_the_state_it_was_made_from(
    with_stream: ServiceUnderTest, send: Set
) -> None:
    seen = with_stream.client.get(PATH).headers["ETag"]
    assert send(None, least=1).status_code == 428
    assert send(seen, least=1).status_code == 200
    assert send(seen, least=2).status_code == 412


def test_roles(with_stream: ServiceUnderTest, send: Set) -> None:
    assert send(role=Role.VIEWER, least=1).status_code == 403
    assert send(role=Role.AUTHOR, least=1).status_code == 403
    assert with_stream.client.get(PATH).json()["version"] == 1
    assert send(role=Role.PUBLISHER, least=1).json()["version"] == 2
    with_stream.client.post(f"{PATH}/pause", headers={"If-Match": "*"})
    assert send(role=Role.AUTHOR, least=3).json()["version"] == 3


def test_approvals_are_needed_as_for_every_change(with_stream: ServiceUnderTest, send: Set) -> None:
    ask_for(with_stream, 1)
    assert send(least=1).status_code == 403
    assert with_stream.client.get(PATH).json()["version"] == 1


def test_a_rule_without_parameters_says_so(with_stream: ServiceUnderTest, send: Set) -> None:
    with_stream.client.put(PATH, json=processor_document(), headers={"If-Match": "*"})
    assert "no parameter least" in send(least=1).json()["errors"][0]["detail"]


def test_examples_are_run_with_the_new_values(with_stream: ServiceUnderTest, send: Set) -> None:
    names = ["fail", "fail", "fail", "login"]
    events = [{"ts": n, "user": "u", "action": a, "amount": 150.0} for n, a in enumerate(names)]
    example = {"events": events, "matches": [{"fail": [0, 1, 2], "login": [3]}]}
    document = processor_document(pattern=WITH_PARAMETERS, select=SELECT, examples=[example])
    assert with_stream.client.put(PATH, json=document, headers={"If-Match": "*"}).is_success
    answer = send(least=200)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/examples/0")
    assert send(least=149).is_success


def test_parameters_may_stand_beside_the_pattern(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    pattern = {"steps": STEPS, "within": "10 minutes"}
    publish(pattern=pattern, parameters=PARAMETERS, select=SELECT)
    assert definition_in_snapshot(with_stream)["pattern"]["parameters"] == PARAMETERS
    wrong = PARAMETERS | {"factor": {"type": "BIGINT", "value": 1, "min": 2}}
    document = processor_document(pattern=pattern, parameters=wrong, select=SELECT)
    answer = with_stream.client.put(PATH, json=document, headers={"If-Match": "*"})
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/parameters/factor/value"]
    twice = processor_document(pattern=WITH_PARAMETERS, parameters=PARAMETERS, select=SELECT)
    answer = with_stream.client.put(PATH, json=twice, headers={"If-Match": "*"})
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/parameters"]


@pytest.mark.parametrize(
    ("changes", "pointer", "told"),
    [
        ({"select": {}}, "/pattern/parameters/factor", "nothing names :factor"),
        ({"select": SELECT | {"x": ":lest"}}, "/select/x", "no parameter lest"),
        ({"key_by": ["user", ":least"]}, "/key_by/1", "a key has no parameters"),
    ],
)
def test_names_that_nothing_stands_behind_are_refused(
    with_stream: ServiceUnderTest, changes: dict[str, Any], pointer: str, told: str
) -> None:
    document = processor_document(pattern=WITH_PARAMETERS, select=SELECT) | changes
    answer = with_stream.client.post("/v1/processors", json=document)
    (error,) = answer.json()["errors"]
    assert error["pointer"] == pointer
    assert told in error["detail"]


def test_a_list_is_changed_as_a_whole(with_stream: ServiceUnderTest, publish: Publish) -> None:
    listed = {"users": {"type": "ARRAY<STRING>", "value": ["ana"], "values": ["ana", "it's"]}}
    publish(pattern={"parameters": listed, "steps": [{"name": "a", "where": "user NOT IN :users"}]})

    def send(users: Any) -> Response:
        path = f"{PATH}/parameters"
        return with_stream.client.patch(path, json={"users": users}, headers={"If-Match": "*"})

    assert send(["ana", "it's"]).json()["version"] == 2
    assert send([]).json()["version"] == 3
    assert definition_in_snapshot(with_stream)["pattern"]["parameters"]["users"]["value"] == []
    for wrong, told in (
        ("ana", "is not a list"),
        (["bob"], "none of"),
        (["ana"] * 1_001, "the limit"),
    ):
        answer = send(wrong)
        assert answer.status_code == 422
        assert told in answer.json()["errors"][0]["detail"]
        assert answer.json()["errors"][0]["pointer"] == "/users"


# --- client and command line


@pytest.fixture
def client(client: Client) -> Client:
    client.publish("logins", ID, pattern=WITH_PARAMETERS, select=SELECT)
    return client


def test_the_client_sets_values(client: Client) -> None:
    first = client.get(ID)
    assert client.set_parameters(ID, {"least": 5}, if_match=first.etag).version == 2
    with pytest.raises(Outdated):
        client.set_parameters(ID, {"least": 6}, if_match=first.etag)
    with pytest.raises(Invalid) as refused:
        client.set_parameters(ID, {"least": -6})
    assert refused.value.flaws[0].pointer == "/least"


def test_the_command_lists_and_sets_values(client: Client, run: Run) -> None:
    lines = run(ID).stdout.splitlines()
    assert "least = 100  (DOUBLE; min 0; max 1000)" in lines
    assert len(lines) == 3
    dry = run(ID, "least=120", "--dry-run")
    assert "least 100 → 120" in dry.stdout
    assert client.get(ID).version == 1
    done = run(ID, "least=120.5", "action=it's", "--comment", "quieter")
    assert done.exit_code == 0
    assert "version 2" in done.stdout
    values = client.get(ID).document["pattern"]["parameters"]
    assert (values["least"]["value"], values["action"]["value"]) == (120.5, "it's")
    assert next(client.versions(ID)).comment == "quieter"
    assert "nothing to do" in run(ID, "least=120.5").stdout


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("lest=1",), 1, "Did you mean 'least'?"),
        (("least=-1",), 1, "below the minimum"),
        (("least=many",), 1, "not a number"),
        (("least",), 2, "NAME=VALUE"),
        (("least=1", "least=2"), 2, "twice"),
    ],
)
@pytest.mark.usefixtures("client")
def test_the_command_says_what_is_wrong(run: Run, words: Any, code: int, told: str) -> None:
    result = run(ID, *words)
    assert result.exit_code == code
    assert told in result.stderr


def test_the_command_sets_lists(client: Client, run: Run) -> None:
    listed = {"users": {"type": "ARRAY<STRING>", "value": []}}
    pattern = {"parameters": listed, "steps": [{"name": "a", "where": "user IN :users"}]}
    client.publish("logins", "listed", pattern=pattern)
    assert run("listed", 'users=["ana", "b"]').exit_code == 0
    assert run("listed").stdout == 'users = ["ana", "b"]  (ARRAY<STRING>)\n'
    assert "is not a list" in run("listed", "users=ana").stderr


def test_a_rule_without_parameters_has_none_to_list(client: Client, run: Run) -> None:
    client.publish("logins", "plain", pattern=PATTERN)
    assert "has no parameters" in run("plain").stdout


def test_why_tells_the_values_with_the_names(tmp_path: Path) -> None:
    listed = {"type": "ARRAY<STRING>", "value": [f"{'u' * 1_000}{n}" for n in range(100)]}
    parameters = {"least": {"type": "DOUBLE", "value": 100}, "users": listed}
    where = "amount > :least AND user IN :users"
    rule = {"parameters": parameters, "steps": [{"name": "a", "where": where}]}
    (tmp_path / "rule.json").write_text(json.dumps(rule))
    (tmp_path / "events.jsonl").write_text('{"ts": 1, "user": "ana", "amount": 50}\n')
    paths = [str(tmp_path / name) for name in ("rule.json", "events.jsonl")]
    told = CliRunner().invoke(app, ["why", *paths]).output
    assert "amount > :least (:least = 100)" in told
    assert "user IN :users (:users = 100 values)" in told
    assert len(told) < 5_000
