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
from tests.api.running import Service

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
def send(with_stream: Service) -> Set:
    """Publish a rule with parameters; returns what sends new values."""
    with_stream.publish(pattern=WITH_PARAMETERS, select=SELECT, tags=["a"])

    def sent(role: Role = Role.ADMIN, **values: Any) -> Response:
        return with_stream.send("PATCH", f"{PATH}/parameters", values, role)

    return sent


def definition_in_snapshot(service: Service) -> Any:
    return service.snapshot()["processors"][0]["versions"][0]["definition"]


def error_of(answer: Response) -> Any:
    """Return the only thing that is wrong with a request."""
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    return error


def test_another_value_is_another_version_with_all_else_unchanged(
    with_stream: Service, send: Set
) -> None:
    before = definition_in_snapshot(with_stream)
    assert send(least=100.0).json()["version"] == 1  # an equal value
    answer = send(least=120, action="it's").json()
    assert (answer["version"], answer["tags"]) == (2, ["a"])
    now = definition_in_snapshot(with_stream)
    parameters = now["pattern"]["parameters"]
    values = {name: each["value"] for name, each in parameters.items()}
    assert values == {"least": 120, "action": "it's", "factor": 2}
    parameters["least"]["value"], parameters["action"]["value"] = 100, "fail"
    assert now == before


def test_a_value_that_does_not_fit_is_refused_with_its_place(
    with_stream: Service, send: Set
) -> None:
    for values, pointer, told in (
        ({"least": -1}, "/least", "below the minimum"),
        ({"least": 1001}, "/least", "above the maximum"),
        ({"least": "100"}, "/least", "not a number"),
        ({"action": "other"}, "/action", "none of"),
        ({"factor": 2.5}, "/factor", "not a whole number"),
        ({"factor": 2**62 * 2 - 1, "lest": 1}, "/lest", "no parameter lest"),
        ({"lest": 1}, "/lest", "Did you mean 'least'?"),
    ):
        error = error_of(send(**values))
        assert error["pointer"] == pointer
        assert told in f"{error['detail']} {error['remedy']}"
        assert with_stream.get(PATH)["version"] == 1


def test_a_change_names_the_state_it_was_made_from(with_stream: Service, send: Set) -> None:
    seen = {"If-Match": with_stream.client.get(PATH).headers["ETag"]}
    assert send(least=1).status_code == 200
    for headers, status in ({}, 428), (seen, 412):
        answer = with_stream.client.patch(f"{PATH}/parameters", json={"least": 2}, headers=headers)
        assert answer.status_code == status


def test_roles_and_approvals_are_needed_as_for_every_change(
    with_stream: Service, send: Set
) -> None:
    for role in (Role.VIEWER, Role.AUTHOR):
        assert send(role, least=1).status_code == 403
    assert with_stream.get(PATH)["version"] == 1
    assert send(Role.PUBLISHER, least=1).json()["version"] == 2
    ask_for(with_stream, 1)
    assert send(least=2).status_code == 403
    with_stream.done("POST", f"{PATH}/pause")
    assert send(Role.AUTHOR, least=3).json()["version"] == 3


def test_examples_are_run_with_the_new_values_of_parameters_that_are_there(
    with_stream: Service, send: Set
) -> None:
    names = ["fail", "fail", "fail", "login"]
    events = [{"ts": n, "user": "u", "action": a, "amount": 150.0} for n, a in enumerate(names)]
    example = {"events": events, "matches": [{"fail": [0, 1, 2], "login": [3]}]}
    with_stream.publish(pattern=WITH_PARAMETERS, select=SELECT, examples=[example])
    assert error_of(send(least=200))["pointer"].startswith("/examples/0")
    assert send(least=149).is_success
    with_stream.publish()
    assert "no parameter least" in error_of(send(least=1))["detail"]


def test_parameters_may_stand_beside_the_pattern_and_each_is_named(with_stream: Service) -> None:
    pattern = {"steps": STEPS, "within": "10 minutes"}
    with_stream.publish(pattern=pattern, parameters=PARAMETERS, select=SELECT)
    assert definition_in_snapshot(with_stream)["pattern"]["parameters"] == PARAMETERS
    wrong = PARAMETERS | {"factor": {"type": "BIGINT", "value": 1, "min": 2}}
    refusals: list[tuple[dict[str, Any], str, str]] = [
        ({"pattern": pattern, "parameters": wrong}, "/parameters/factor/value", ""),
        ({"parameters": PARAMETERS}, "/parameters", ""),
        ({"select": {}}, "/pattern/parameters/factor", "nothing names :factor"),
        ({"select": SELECT | {"x": ":lest"}}, "/select/x", "no parameter lest"),
        ({"key_by": ["user", ":least"]}, "/key_by/1", "a key has no parameters"),
    ]
    for changes, pointer, told in refusals:
        document = processor_document(pattern=WITH_PARAMETERS, select=SELECT) | changes
        error = error_of(with_stream.send("PUT", PATH, document))
        assert (error["pointer"], told in error["detail"]) == (pointer, True)


def test_a_list_is_changed_as_a_whole(with_stream: Service) -> None:
    listed = {"users": {"type": "ARRAY<STRING>", "value": ["ana"], "values": ["ana", "it's"]}}
    steps = [{"name": "a", "where": "user NOT IN :users"}]
    with_stream.publish(pattern={"parameters": listed, "steps": steps})

    def send(users: Any) -> Response:
        return with_stream.send("PATCH", f"{PATH}/parameters", {"users": users})

    assert send(["ana", "it's"]).json()["version"] == 2
    assert send([]).json()["version"] == 3
    assert definition_in_snapshot(with_stream)["pattern"]["parameters"]["users"]["value"] == []
    for wrong, told in (
        ("ana", "is not a list"),
        (["bob"], "none of"),
        (["ana"] * 1_001, "the limit"),
    ):
        error = error_of(send(wrong))
        assert (error["pointer"], told in error["detail"]) == ("/users", True)


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
    assert "least 100 → 120" in run(ID, "least=120", "--dry-run").stdout
    assert client.get(ID).version == 1
    done = run(ID, "least=120.5", "action=it's", "--comment", "quieter", code=0)
    assert "version 2" in done.stdout
    values = client.get(ID).document["pattern"]["parameters"]
    assert (values["least"]["value"], values["action"]["value"]) == (120.5, "it's")
    assert next(client.versions(ID)).comment == "quieter"
    assert "nothing to do" in run(ID, "least=120.5").stdout


@pytest.mark.usefixtures("client")
def test_the_command_says_what_is_wrong(run: Run) -> None:
    for words, code, told in (
        (("lest=1",), 1, "Did you mean 'least'?"),
        (("least=-1",), 1, "below the minimum"),
        (("least=many",), 1, "not a number"),
        (("least",), 2, "NAME=VALUE"),
        (("least=1", "least=2"), 2, "twice"),
    ):
        assert told in run(ID, *words, code=code).stderr


def test_the_command_sets_lists_and_a_rule_without_parameters_has_none_to_list(
    client: Client, run: Run
) -> None:
    listed = {"users": {"type": "ARRAY<STRING>", "value": []}}
    pattern = {"parameters": listed, "steps": [{"name": "a", "where": "user IN :users"}]}
    client.publish("logins", "listed", pattern=pattern)
    run("listed", 'users=["ana", "b"]', code=0)
    assert run("listed").stdout == 'users = ["ana", "b"]  (ARRAY<STRING>)\n'
    assert "is not a list" in run("listed", "users=ana").stderr
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
