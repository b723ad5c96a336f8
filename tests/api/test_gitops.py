"""`percept apply` and `percept export` against a service that listens."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from api.client import Client, Processor, Unreachable
from api.code.commands import signing_key
from api.gitops import commands, rule_sets
from api.gitops.changes import Plan
from api.gitops.comparison import text_diff
from api.gitops.execution import Execution
from cep import Pattern, select
from cep.signing.code import CodeUse, sign
from cep.signing.keys import SigningKey
from tests.api.commands import Run, runner, write
from tests.api.documents import ANY_STATE, PATTERN, STREAM, processor_document
from tests.api.listening import ListeningService, listening_service

ID = "failed-logins"
OTHER_PATTERN = PATTERN | {"within": "5 minutes"}
PAYMENTS = STREAM | {"name": "payments"}
WITHOUT_ACTION = STREAM | {"schema": "user STRING, ts TIMESTAMP"}


@pytest.fixture
def asking(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command as on a terminal."""
    monkeypatch.setattr(commands, "_has_terminal", lambda: True)
    return run


def plan_of(result: Result) -> list[str]:
    """Return the lines of a plan that are not its diffs."""
    return [line for line in result.output.splitlines() if line and not line.startswith(" ")]


# --- what changes


def test_a_folder_is_applied_and_the_second_time_nothing_is_left_to_do(
    run: Run, client: Client, tmp_path: Path
) -> None:
    write(tmp_path / "streams.yaml", PAYMENTS)
    write(tmp_path / "rules" / "a.yml", processor_document(id="a"), processor_document(id="b"))
    documents = [processor_document(id=name, stream="payments") for name in ("c", "d")]
    (tmp_path / "rules" / "c.json").write_text(json.dumps(documents))
    (tmp_path / "notes.txt").write_text("not a rule")

    first = run("apply", tmp_path)
    second = run("apply", tmp_path)

    assert first.exit_code == 0, first.output
    assert plan_of(first)[:6] == [
        "register stream: stream payments",
        "create: processor a",
        "create: processor b",
        "create: processor c",
        "create: processor d",
        "Plan: 1 × register stream, 4 × create, 0 unchanged",  # noqa: RUF001 - "times"
    ]
    assert [each.id for each in client.processors()] == ["a", "b", "c", "d"]
    assert (second.exit_code, second.output) == (0, "Plan: 5 unchanged\n")
    assert client.get("a").version == 1


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_documents_come_through_a_pipe_too(run: Run, client: Client, form: str) -> None:
    documents = [PAYMENTS, processor_document(id="a", stream="payments")]
    text = json.dumps(documents) if form == "json" else yaml.safe_dump_all(documents)
    result = run("apply", "-", given=text)
    assert result.exit_code == 0, result.output
    assert [each.id for each in client.processors()] == ["a"]
    wrong = run("apply", "-", given="id: b\nstream: payments\nkey_by: 1\n")
    assert wrong.exit_code == 2
    assert "standard input:" in wrong.stderr


def test_another_spelling_is_no_change(run: Run, client: Client, tmp_path: Path) -> None:
    client.publish("logins", ID, pattern=PATTERN, tags=["b", "a"], key_by=["user"])
    spelled = {"steps": PATTERN["steps"], "within_ms": 600_000}
    document = processor_document(pattern=spelled, tags=["a", "b", "a"], key_by="user")
    file = write(tmp_path / "a.yaml", document)
    assert plan_of(run("apply", file)) == ["Plan: 1 unchanged"]


def test_a_new_version_is_shown_with_its_diff(run: Run, client: Client, tmp_path: Path) -> None:
    client.publish("logins", ID, pattern=PATTERN, key_by=["user"])
    file = write(tmp_path / "a.yaml", processor_document(pattern=OTHER_PATTERN, severity="high"))

    result = run("apply", file, "--comment", "commit 1a2b")

    assert f"new version: processor {ID}" in result.output
    for line in ("+severity: high", "-  within: 10 minutes", "+  within: 5 minutes"):
        assert f"    {line}\n" in result.output
    assert client.get(ID).version == 2
    assert client.version(ID, 2).comment == "commit 1a2b"


def test_a_change_of_one_line_is_a_diff_of_one_line(
    run: Run, client: Client, tmp_path: Path
) -> None:
    example = {
        "name": "three, then in",
        "events": [
            {"user": "eve", "ts": at, "action": action}
            for at, action in enumerate(["fail", "fail", "fail", "login"])
        ],
        "matches": [{"login": [3], "fail": [0, 1, 2]}],
    }
    wide = processor_document(
        select={"who": "login.user", "n": "COUNT(fail.*)", "at": "LAST(login.ts)"},
        limits={"partial_matches_per_shard": 9, "events_per_key": 8},
        examples=[example],
        owner="fraud",
        tags=["b", "a"],
        description="guesses",
    )
    client.create(wide)
    # As people write it: what tells more comes first.
    changed = {key: wide[key] for key in ("select", "examples", "pattern", *wide)}
    file = write(tmp_path / "a.yaml", changed | {"pattern": OTHER_PATTERN})

    result = run("apply", file, "--dry-run")

    diff = [line.strip() for line in result.output.splitlines() if line.startswith("    ")]
    assert [line for line in diff if line.startswith(("+", "-"))] == [
        "-  within: 10 minutes",
        "+  within: 5 minutes",
    ]
    assert len(diff) <= 7


def test_a_renamed_output_column_is_a_diff_of_two_lines(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.create(processor_document(select={"z": "login.user", "a": "COUNT(fail.*)"}))
    file = write(
        tmp_path / "a.yaml",
        processor_document(select={"z": "login.user", "b": "COUNT(fail.*)"}),
    )
    lines = run("apply", file, "--dry-run").output.splitlines()
    changed = [line for line in lines if line.startswith(("    +", "    -"))]
    assert changed == ["    -  a: COUNT(fail.*)", "    +  b: COUNT(fail.*)"]


def test_labels_alone_make_no_version(run: Run, client: Client, tmp_path: Path) -> None:
    client.publish("logins", ID, pattern=PATTERN, key_by=["user"], owner="x", tags=["t"])
    file = write(tmp_path / "a.yaml", processor_document(description="d"))

    result = run("apply", file)

    assert plan_of(result)[0] == f"labels only: processor {ID}"
    changed = client.get(ID)
    assert (changed.version, changed.description, changed.owner, changed.tags) == (1, "d", "", [])


PAUSES: dict[str, tuple[bool, dict[str, bool], str, bool]] = {
    "pause": (False, {"paused": True}, f"pause: processor {ID}", True),
    "resume": (True, {"paused": False}, f"resume: processor {ID}", False),
    "stays paused": (True, {}, "Plan: 1 unchanged", True),
    "stays running": (False, {}, "Plan: 1 unchanged", False),
    "is paused": (True, {"paused": True}, "Plan: 1 unchanged", True),
}


@pytest.mark.parametrize("case", PAUSES)
def test_a_file_pauses_and_resumes_only_if_it_says_so(
    case: str, run: Run, client: Client, tmp_path: Path
) -> None:
    before, said, planned, after = PAUSES[case]
    client.publish("logins", ID, pattern=PATTERN, key_by=["user"], paused=before)
    result = run("apply", write(tmp_path / "a.yaml", processor_document() | said))
    assert (plan_of(result)[0], client.get(ID).is_paused) == (planned, after)


def test_pausing_comes_before_a_new_version_and_resuming_after_it(
    run: Run, client: Client, tmp_path: Path, listening: ListeningService
) -> None:
    client.publish("logins", ID, pattern=PATTERN, key_by=["user"])
    for paused, pattern in ((True, OTHER_PATTERN), (False, PATTERN)):
        document = processor_document(pattern=pattern, paused=paused)
        assert run("apply", write(tmp_path / "a.yaml", document)).exit_code == 0
    log = listening.service.client.get("/v1/changes", params={"processor": ID}).json()["items"]
    actions = [change["action"].removeprefix("processor.") for change in reversed(log)]
    assert actions == ["create", "pause", "publish", "publish", "resume"]


def test_a_stream_is_redefined(run: Run, client: Client, tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", STREAM | {"allowed_delay_ms": 9})
    assert "redefine stream: stream logins" in run("apply", file).output
    assert client.stream("logins").allowed_delay_ms == 9


def test_a_cancelled_version_is_not_published_again(
    run: Run, client: Client, tmp_path: Path, listening: ListeningService
) -> None:
    client.publish("logins", ID, pattern=PATTERN, key_by=["user"])
    client.publish("logins", ID, pattern=OTHER_PATTERN, effective_from="2030-01-01T00:00:00Z")
    cancel = f"/v1/processors/{ID}/versions/2/cancel"
    listening.service.client.post(cancel, headers=ANY_STATE).raise_for_status()
    file = write(tmp_path / "a.yaml", processor_document())
    assert plan_of(run("apply", file)) == ["Plan: 1 unchanged"]


def test_times_without_quotes_are_times(run: Run, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    example = {"events": [{"ts": "2026-01-01T00:00:00Z", "action": "none"}]}
    text = yaml.safe_dump(processor_document(examples=[example])).replace("'2026", "2026")
    text = text.replace("00Z'", "00Z")
    file.write_text(f"{text}\neffective_from: 2030-01-01T00:00:00Z\n")
    assert run("apply", file).exit_code == 0
    assert client.get(ID).published[0].effective_from == 1_893_456_000_000


# --- versions for later

LATER = {"pattern": OTHER_PATTERN, "effective_from": "2030-01-01T00:00:00.000Z"}
LAST = {"pattern": PATTERN | {"within": "1 minute"}, "effective_from": "2031-01-01T00:00:00.000Z"}
NOW: dict[str, Any] = {}
MOVED = "new version + cancel version"
SCHEDULES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], str, list[int]]] = {
    "one more": ([NOW], [NOW, LATER], "new version", [1, 2]),
    "two more, in any order": ([NOW], [LAST, LATER, NOW], "new version", [1, 2, 3]),
    "all new": ([], [NOW, LATER], "create + new version", [1, 2]),
    "the same": ([NOW, LATER], [LATER, NOW], "", [1, 2]),
    "one less": ([NOW, LATER], [NOW], "cancel version", [1]),
    "the first less": ([NOW, LATER, LAST], [NOW, LAST], "cancel version", [1, 3]),
    "one before another": ([NOW, LAST], [NOW, LATER, LAST], MOVED, [1, 3, 4]),
    "another for now": ([NOW, LATER], [{"severity": "low"}, LATER], "new version", [3, 4]),
    "only later, beside what runs": ([NOW], [LATER], "new version", [1, 2]),
    "only later, and so it is": ([NOW, LATER], [LATER], "", [1, 2]),
    "later, but another": ([NOW, LATER], [LAST], MOVED, [1, 3]),
    "only later, never one for now": ([LATER], [LAST], MOVED, [2]),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_documents_of_one_id_are_its_versions_by_time(
    case: str, run: Run, client: Client, tmp_path: Path
) -> None:
    before, after, planned, numbers = SCHEDULES[case]
    for version in before:
        document: Any = processor_document(**version)
        client.publish(document.pop("stream"), document.pop("id"), **document)
    file = write(tmp_path / "a.yaml", *(processor_document(**version) for version in after))

    first, second = run("apply", file), run("apply", file)

    assert first.exit_code == 0, first.output
    assert plan_of(first)[0] == (f"{planned}: processor {ID}" if planned else "Plan: 1 unchanged")
    assert [published.version for published in client.get(ID).published] == numbers
    assert second.output == "Plan: 1 unchanged\n"


def test_labels_in_one_document_are_those_of_all_versions(
    run: Run, client: Client, tmp_path: Path
) -> None:
    documents = [processor_document(owner="fraud"), processor_document(**LATER, tags=["t"])]
    file = write(tmp_path / "a.yaml", *documents)
    assert run("apply", file).exit_code == 0
    assert (client.get(ID).owner, client.get(ID).tags) == ("fraud", ["t"])
    assert plan_of(run("apply", file)) == ["Plan: 1 unchanged"]


# --- pruning


def test_only_prune_deletes_and_only_in_streams_the_files_name(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.register_stream(PAYMENTS)
    client.publish("logins", "stray", pattern=PATTERN)
    client.publish("payments", "other", pattern=PATTERN)
    file = write(tmp_path / "a.yaml", processor_document())

    assert run("apply", file).exit_code == 0
    assert "stray" in [each.id for each in client.processors()]
    pruned = run("apply", file, "--prune")

    assert plan_of(pruned)[0] == "delete: processor stray"
    assert [each.id for each in client.processors()] == [ID, "other"]


def test_one_stream_alone_may_be_applied(run: Run, client: Client, tmp_path: Path) -> None:
    client.publish("logins", "stray", pattern=PATTERN)
    write(tmp_path / "a.yaml", PAYMENTS, processor_document(id="a", stream="payments"))
    write(tmp_path / "b.yaml", processor_document(id="b"))
    run("apply", tmp_path, "--stream", "payments", "--prune")
    assert [each.id for each in client.processors()] == ["a", "stray"]


@pytest.mark.parametrize("options", [[], ["--stream", "logins"]])
def test_an_empty_folder_never_deletes_everything(
    options: list[str], run: Run, client: Client, tmp_path: Path
) -> None:
    client.publish("logins", "stray", pattern=PATTERN)
    if options:
        write(tmp_path / "a.yaml", PAYMENTS)
    result = run("apply", tmp_path, "--prune", *options)
    assert result.exit_code == 2
    assert "there is no document" in result.output
    assert [each.id for each in client.processors()] == ["stray"]


# --- asking, and not doing it


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--detailed-exitcode"], 3)])
def test_a_dry_run_shows_the_plan_and_changes_nothing(
    options: list[str], code: int, run: Run, client: Client, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.yaml", processor_document())
    result = run("apply", file, "--dry-run", *options)
    assert (result.exit_code, plan_of(result)[0]) == (code, f"create: processor {ID}")
    assert list(client.processors()) == []

    client.publish("logins", ID, pattern=PATTERN, key_by=["user"])
    assert run("apply", file, "--dry-run", *options).exit_code == 0


ANSWERS: dict[str, tuple[list[str], bool]] = {
    "y\n": ([], True),
    "n\n": ([], False),
    "": (["--yes"], True),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_on_a_terminal_it_asks(answer: str, asking: Run, client: Client, tmp_path: Path) -> None:
    options, made = ANSWERS[answer]
    file = write(tmp_path / "a.yaml", processor_document())
    result = asking("apply", file, *options, given=answer)
    assert ("Make these changes?" in result.output) is bool(answer)
    assert (result.exit_code == 0, len(list(client.processors())) == 1) == (made, made)


# --- what is wrong


def test_every_problem_of_every_file_is_told_with_its_place(
    run: Run, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(
        "id: a\nstream: logins\npatern: {}\npattern:\n  steps:\n  - name: x\n---\n"
        "id: b\nstream: logins\npattern:\n  steps:\n"
        "  - name: x\n    where: amuont > 1\n  - name: y\n    contiguity: nxet\n"
    )
    (tmp_path / "b.yaml").write_text(
        "id: c\nstream: logins\npattern:\n  steps:\n  - name: x\n"
        "    where: action = 'a' AND amuont > 1\nkey_by: [usr]\n"
    )
    (tmp_path / "c.json").write_text(
        '{"id": "d", "stream": "nowhere",\n "pattern": {"steps": [{"name": "x"}]}}'
    )
    (tmp_path / "d.yaml").write_text("id: [\n")
    (tmp_path / "e.yaml").write_text("name: s\nschema: a STRNG\nevent_time_column: ts\n")
    (tmp_path / "f.yaml").write_text("- just text\n---\nfoo: 1\n")

    result = run("apply", tmp_path)

    told = result.output.replace(f"{tmp_path}/", "")
    assert result.exit_code == 2
    for line in (
        "a.yaml:3:1: patern: unknown key. Did you mean 'pattern'?",
        "a.yaml:15:5: pattern.steps[1].contiguity: 'nxet' is not known. Did you mean 'next'?",
        "b.yaml:6:29: pattern.steps[0].where: ",
        "b.yaml:7:10: key_by[0]: there is no column usr. Did you mean user?",
        "c.json:1:13: stream: there is no stream 'nowhere'",
        "d.yaml:2:1: ",
        "e.yaml:2:9: schema: ",
        "f.yaml:1:3: a document is a mapping",
        "f.yaml:3:1: neither a rule (id, stream, pattern), a stream (name, schema) nor",
        "nothing was changed.",
    ):
        assert line in told, told
    assert "amount" in told
    assert list(client.processors()) == []


TAGGED = PAYMENTS | {"schema": PAYMENTS["schema"] + ", tags ARRAY<STRING>"}
UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "a key of lists": ({"key_by": ["tags"]}, "key_by[0]: a value of type ARRAY<STRING> cannot be"),
    "a column of no step": ({"select": {"total": "amount"}}, "select.total: amount needs a step"),
    "an example that fails": (
        {"examples": [{"events": [{"ts": 1, "user": "u"}], "matches": [{"fail": [0]}]}]},
        "examples[0].matches: Expected and not found",
    ),
    "code that nobody signed": (
        {"function": sign(len, SigningKey("other", b"x" * 32), CodeUse.FUNCTION).to_document()},
        "function: len is signed with the key 'other', unknown here",
    ),
}


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("case", UNFIT)
def test_what_a_publish_refuses_is_refused_before_a_stream_is_changed(
    case: str,
    is_new: bool,  # noqa: FBT001 - pytest passes it by name
    run: Run,
    client: Client,
    tmp_path: Path,
) -> None:
    changes, told = UNFIT[case]
    if not is_new:
        client.register_stream(PAYMENTS)
    write(tmp_path / "a.yaml", TAGGED, processor_document(stream="payments", **changes))

    result = run("apply", tmp_path)

    assert (result.exit_code, told in result.output) == (2, True), result.output
    assert "1 problem; nothing was changed." in result.output
    schemas = [stream.ddl for stream in client.streams() if stream.name == "payments"]
    assert schemas == ([] if is_new else [PAYMENTS["schema"]])


def test_mistakes_of_every_kind_are_told_in_one_go(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.publish("logins", "published", pattern=PATTERN, key_by=["user"])
    example = {"events": [{"ts": 1, "user": "u"}], "matches": [{"fail": [0]}]}
    rules = tmp_path / "rules"
    write(
        rules / "a.yaml",
        processor_document(
            id="a", stream="payments", sevrity="low", key_by=["usr"], examples=[example]
        ),
    )
    unknown_column = {"steps": [{"name": "x", "tims": 3, "where": "amuont > 1"}]}
    write(rules / "b.yaml", processor_document(id="a", stream="payments", pattern=unknown_column))
    write(rules / "c.yaml", processor_document(id="c", stream="payments", key_by=["tags"]))
    client.register_stream(STREAM | {"name": "orders"})
    write(rules / "d.yaml", processor_document(id="d", stream="orders", examples=[example]))
    write(rules / "e.yaml", PAYMENTS | {"event_time_column": "tss", "dely": 1})
    client.register_stream(PAYMENTS)
    write(rules / "f.yaml", STREAM | {"schema": "name STRING, action STRING, ts TIMESTAMP"})

    result = run("apply", rules)

    told = result.output.replace(f"{rules}/", "")
    assert result.exit_code == 2
    for line in (
        "a.yaml:14:1: sevrity: unknown key. Did you mean 'severity'?",
        "a.yaml:13:3: key_by[0]: there is no column usr. Did you mean user?",
        "b.yaml:1:1: id: 'a' is also in a.yaml, with the same effective_from",
        "b.yaml:6:5: pattern.steps[0].tims: unknown key. Did you mean 'times'?",
        "b.yaml:7:12: pattern.steps[0].where: there is no column amuont. Did you mean amount?",
        "c.yaml:13:3: key_by[0]: there is no column tags.",
        "d.yaml:18:3: examples[0].matches: Expected and not found",
        "e.yaml:3:1: event_time_column: The schema has no column tss. Did you mean ts?",
        "e.yaml:5:1: dely: unknown key.",
        "f.yaml:2:1: schema: what is published does not fit: 'published', version 1, key_by[0]: ",
        "nothing was changed.",
    ):
        assert line in told, f"{line}\n{told}"


def test_a_service_that_refuses_the_token_hides_no_mistake_in_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERCEPT_TOKEN", "percept_wrong")
    for mistake, told in (({}, ""), ({"sevrity": "low"}, "sevrity: unknown key")):
        result = run("apply", write(tmp_path / "a.yaml", processor_document(**mistake)))
        assert (result.exit_code, told in result.output) == (1, True)
        assert "401 The token is not valid" in result.output
        assert "percept_wrong" not in result.output


def test_warnings_are_shown_with_the_plan_whether_the_stream_is_new_or_not(
    run: Run, tmp_path: Path
) -> None:
    endless = {"steps": [{"name": "a", "where": "1 = 2", "times": {"from": 1, "to": None}}]}
    for stream in ("payments", "logins"):
        file = write(
            tmp_path / f"{stream}.yaml", processor_document(stream=stream, pattern=endless)
        )
        files = [file, write(tmp_path / "stream.yaml", PAYMENTS)]
        result = run("apply", "--dry-run", *files)
        assert result.exit_code == 0
        for told in (
            f"    warning: {file}:7:5: pattern.steps[0].times: a loop without until",
            f"    warning: {file}:6:5: pattern.steps[0].where: the condition is never true",
        ):
            assert result.output.count(told) == 1, result.output


def test_a_processor_does_not_move_to_another_stream(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.register_stream(PAYMENTS)
    client.publish("logins", ID, pattern=PATTERN)
    result = run("apply", write(tmp_path / "a.yaml", processor_document(stream="payments")))
    assert result.exit_code == 2
    assert "stream: 'failed-logins' stays on stream 'logins'" in result.output


def test_a_file_that_is_not_there_is_bad_input(run: Run, tmp_path: Path) -> None:
    assert run("apply", tmp_path / "none.yaml").exit_code == 2


def test_a_url_over_which_the_token_would_leak_is_bad_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERCEPT_URL", "http://rules.example.com")
    result = run("apply", write(tmp_path / "a.yaml", processor_document()))
    assert result.exit_code == 2


# --- others change things, too


def test_rules_of_a_stream_are_one_epoch(
    run: Run, client: Client, tmp_path: Path, listening: ListeningService
) -> None:
    client.register_stream(PAYMENTS)
    for name in ("old", "gone"):
        client.publish("logins", name, pattern=PATTERN, key_by=["user"])
    later = processor_document(id="new", effective_from="2030-01-01T00:00:00Z")
    write(
        tmp_path / "a.yaml",
        processor_document(id="old", pattern=OTHER_PATTERN, owner="fraud", paused=True),
        processor_document(id="new"),
        later,
        processor_document(id="quiet", paused=True),
        processor_document(id="other", stream="payments"),
    )
    result = run("apply", tmp_path, "--prune", "--comment", "commit 1a2b")

    assert result.exit_code == 0
    assert plan_of(result)[-7:] == [
        "done: pause + new version old",
        "done: create + new version new",
        "done: create, paused quiet",
        "done: delete gone",
        "Stream logins: epoch 4",
        "done: create other",
        "Stream payments: epoch 2",
    ]
    told = listening.service.client.get("/v1/changes?stream=logins&epoch=4").json()["items"]
    assert {change["comment"] for change in told} == {"commit 1a2b"}
    assert {change["processor_id"] for change in told} == {"old", "new", "quiet", "gone"}
    assert "4 unchanged" in run("apply", tmp_path, "--prune").output


def test_a_change_made_meanwhile_is_told_and_not_lost_and_no_other_is_made(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.register_stream(PAYMENTS)
    for name in ("a", "b"):
        client.publish("logins", name, pattern=PATTERN, key_by=["user"])
    write(
        tmp_path / "a.yaml",
        *(processor_document(id=name, severity="low") for name in ("a", "b")),
        processor_document(id="c", stream="payments"),
    )
    theirs: list[Processor] = []
    meanwhile(
        monkeypatch,
        lambda: theirs.append(client.publish("logins", "a", pattern=OTHER_PATTERN)),
    )
    result = run("apply", tmp_path)

    assert result.exit_code == 1
    lines = result.output.splitlines()
    told = "failed: new version a: was changed by somebody else meanwhile; 412 Rule 'a' has changed"
    assert any(line.startswith(told) for line in lines)
    together = "rules of a stream are changed together or not at all"
    assert f"not made: new version b: {together}" in lines
    assert "done: create c" in lines
    assert lines[-4:] == [
        "1 of 3 changes failed, 1 more were not made.",
        "    changed: create c",
        "    not changed: new version a",
        "    not changed: new version b",
    ]
    assert client.get("a") == theirs[0]
    assert client.get("b").version == 1


def test_what_waits_for_a_stream_is_not_tried_if_its_change_fails(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.yaml", PAYMENTS, processor_document(id="a", stream="payments"))
    write(tmp_path / "b.yaml", processor_document(id="b"))
    meanwhile(monkeypatch, lambda: client.register_stream(TAGGED))
    result = run("apply", tmp_path)

    assert result.exit_code == 1
    lines = result.output.splitlines()
    at = lines.index("1 of 3 changes failed, 1 more were not made.")
    assert lines[at + 1 :] == [
        "    changed: create b",
        "    not changed: register stream payments",
        "    not changed: create a",
    ]
    assert "not made: create a: stream payments is not as planned" in lines
    assert [each.id for each in client.processors()] == ["b"]


def test_a_flaw_that_only_the_change_itself_shows_is_told_of_its_rule(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.yaml", *(processor_document(id=name) for name in ("a", "b")))
    meanwhile(monkeypatch, lambda: client.redefine_stream(WITHOUT_ACTION, if_match="*"))
    result = run("apply", tmp_path)
    lines = result.output.splitlines()
    at = lines.index("2 of 2 changes failed.")
    assert lines[at - 7].startswith("failed: create b: 422 The document is wrong.")
    assert lines[at - 6].startswith("  /pattern/steps/0/where (line 1, column 1): there is no col")
    assert list(client.processors()) == []


def test_after_a_service_has_gone_nothing_more_is_tried_and_what_is_unknown_is_said(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.register_stream(PAYMENTS)
    write(
        tmp_path / "a.yaml",
        *(processor_document(id=name) for name in ("a", "b")),
        processor_document(id="b", effective_from="2030-01-01T00:00:00Z"),
        processor_document(id="c", stream="payments"),
    )
    change_rules = Client.change_rules

    def without_answer(self: Client, *arguments: Any, **options: Any) -> Any:
        change_rules(self, *arguments, **options)
        raise Unreachable("the connection was reset")

    monkeypatch.setattr(Client, "change_rules", without_answer)
    result = run("apply", tmp_path)

    assert result.exit_code == 1
    assert result.output.splitlines()[-4:] == [
        "2 of 3 changes failed, 1 more were not made.",
        "    perhaps changed: create a",
        "    perhaps changed: create + new version b",
        "    not changed: create c",
    ]
    assert [each.id for each in client.processors()] == ["a", "b"]


@pytest.mark.parametrize("bound", ["MOST_CHANGES", "MOST_BYTES"])
def test_more_than_a_set_takes_is_several_and_none_after_one_that_fails(
    bound: str, run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = processor_document(id="a")
    size = {"MOST_CHANGES": 2, "MOST_BYTES": 5 * len(json.dumps(first)) // 2 + 150}[bound]
    monkeypatch.setattr(rule_sets, bound, size)
    file = write(tmp_path / "a.yaml", *(processor_document(id=name) for name in "abcdef"))
    meanwhile(monkeypatch, lambda: client.create(processor_document(id="d")))
    result = run("apply", file)

    assert result.exit_code == 1
    assert "Stream logins: epoch 3; more than fits into a set, so others follow" in result.output
    assert result.output.splitlines()[-7:] == [
        "1 of 6 changes failed, 3 more were not made.",
        "    changed: create a",
        "    changed: create b",
        *(f"    not changed: create {name}" for name in "cdef"),
    ]
    assert [each.id for each in client.processors()] == ["a", "b", "d"]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let somebody else act between the plan and the changes."""
    carry_out = Execution.carry_out

    def after_somebody_else(self: Execution, plan: Plan) -> Any:
        act()
        return carry_out(self, plan)

    monkeypatch.setattr(Execution, "carry_out", after_somebody_else)


# --- exporting


@pytest.fixture
def run_on_both(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Run, Client]]:
    with listening_service(database_url) as listening, listening.client() as client:
        yield runner(listening, monkeypatch), client


@pytest.mark.parametrize("file_format", ["yaml", "json"])
def test_apply_finds_unchanged_what_was_exported(
    file_format: str, run_on_both: tuple[Run, Client], tmp_path: Path
) -> None:
    run, client = run_on_both
    example = {"events": [{"ts": "2026-01-01T00:00:00Z", "action": 'say "hi" # é\u0085'}]}
    client.register_stream(PAYMENTS | {"order_by": ["user"], "description": "all: of them"})
    client.publish("logins", "plain", pattern=PATTERN)
    client.publish(
        "logins",
        "full.of-everything",
        pattern=PATTERN,
        key_by=["user"],
        select={"who": "login.user"},
        limits={"partial_matches_per_key": 5},
        on_update="drain",
        severity="low",
        effective_until="2030-01-01T00:00:00Z",
        examples=[example],
        description="two\nlines: 'quoted'",
        owner="1",
        tags=["b", "a"],
    )
    client.publish("logins", "no-version-yet", pattern=PATTERN, paused=True)
    code = Pattern.begin("a").where("amount > 1").where(lambda _e, _c: True).or_where("user = 'x'")
    client.publish("payments", "code", pattern=code, function=select(len))
    client.publish("payments", "twice", pattern=PATTERN)
    client.publish("payments", "twice", pattern=OTHER_PATTERN, effective_from=4_000_000_000_000)

    exported = run("export", tmp_path, "--format", file_format)
    applied = run("apply", tmp_path, "--prune")

    assert exported.exit_code == 0, exported.output
    assert applied.output == "Plan: 7 unchanged\n"
    names = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.*") if file.is_file()}
    assert f"processors/logins/full.of-everything.{file_format}" in names
    assert f"streams/payments.{file_format}" in names


def test_an_exported_rule_reads_well(run: Run, client: Client, tmp_path: Path) -> None:
    client.publish("logins", ID, pattern=PATTERN, key_by=["user"], owner="fraud")
    run("export", tmp_path, "--stream", "logins")
    text = (tmp_path / "processors" / "logins" / f"{ID}.yaml").read_text()
    assert text.splitlines() == [
        f"id: {ID}",
        "stream: logins",
        "owner: fraud",
        "key_by:",
        "- user",
        "pattern:",
        "  steps:",
        "  - name: fail",
        "    where: action = 'fail'",
        "    times: 3",
        "  - name: login",
        "    contiguity: followed_by",
        "    where: action = 'login'",
        "  within: 10 minutes",
    ]


CLAUSE_FILE = """\
id: guessed
stream: logins
owner: fraud
pattern:
  match_recognize: |
    SELECT * FROM logins MATCH_RECOGNIZE (
      PARTITION BY user ORDER BY ts
      MEASURES COUNT(FAIL.*) AS failures  -- how often

      PATTERN (FAIL{3,} LOGIN) WITHIN INTERVAL '10' MINUTE
      DEFINE FAIL AS action = 'fail', LOGIN AS action = 'login'
    )
"""


def test_a_clause_is_kept_as_it_was_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(CLAUSE_FILE)
    assert plan_of(run("apply", tmp_path))[0] == "create: processor guessed"
    assert plan_of(run("apply", tmp_path)) == ["Plan: 1 unchanged"]
    for file_format in ("yaml", "json"):
        folder = tmp_path / file_format
        run("export", folder, "--format", file_format)
        assert plan_of(run("apply", folder, "--prune")) == ["Plan: 2 unchanged"]
    exported = (tmp_path / "yaml/processors/logins/guessed.yaml").read_text()
    assert exported == CLAUSE_FILE


def test_a_change_of_a_clause_is_a_diff_of_its_lines(
    run: Run, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(CLAUSE_FILE)
    run("apply", file)
    file.write_text(CLAUSE_FILE.replace("FAIL{3,}", "FAIL{5,}"))
    result = run("apply", file)
    changed = [line.strip() for line in result.output.splitlines() if line.startswith("    ")]
    assert [line for line in changed if line.startswith(("+", "-"))] == [
        "-      PATTERN (FAIL{3,} LOGIN) WITHIN INTERVAL '10' MINUTE",
        "+      PATTERN (FAIL{5,} LOGIN) WITHIN INTERVAL '10' MINUTE",
    ]
    assert client.get("guessed").version == 2


def test_a_mistake_in_a_clause_is_told_with_the_line_of_its_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(CLAUSE_FILE.replace("LOGIN AS action", "LOGIN AS acton"))
    result = run("apply", file)
    assert result.exit_code == 2
    assert "rule.yaml:11:48: pattern.match_recognize: there is no column acton" in result.output


def test_files_of_what_is_gone_are_left_and_named(run: Run, client: Client, tmp_path: Path) -> None:
    client.publish("logins", "gone", pattern=PATTERN)
    run("export", tmp_path)
    client.delete("gone")
    result = run("export", tmp_path)
    assert f"{tmp_path}/processors/logins/gone.yaml" in result.output
    assert (tmp_path / "processors" / "logins" / "gone.yaml").exists()


def test_files_that_only_capital_letters_tell_apart_are_named(
    run: Run, client: Client, tmp_path: Path
) -> None:
    for name in ("a", "B", "A"):
        client.publish("logins", name, pattern=PATTERN)
    result = run("export", tmp_path)
    folder = tmp_path / "processors" / "logins"
    assert f"    {folder}/A.yaml, {folder}/a.yaml\n" in result.output
    assert "B.yaml" not in result.output


def test_a_folder_that_cannot_be_written_is_a_failure(run: Run, tmp_path: Path) -> None:
    (tmp_path / "streams").write_text("a file")
    assert run("export", tmp_path).exit_code == 1


# --- other parts


def test_code_in_a_diff_is_cut() -> None:
    lines = text_diff([{"payload": "a" * 1_000}], [{"payload": "b" * 1_000}])
    assert [line[:13] for line in lines[1:]] == ["-payload: aaa", "+payload: bbb"]
    assert max(map(len, lines)) == 160


def test_a_new_signing_key_can_be_read_and_is_new_each_time() -> None:
    app = typer.Typer()
    app.command()(signing_key)
    printed = [CliRunner().invoke(app, ["2026-11"]).output.strip() for _ in range(2)]
    assert printed[0] != printed[1]
    assert all(text.startswith("2026-11:") for text in printed)
    assert CliRunner().invoke(app, ["not an id"]).exit_code == 2
    assert SigningKey.new("2026-11").to_text() not in printed


def test_an_export_to_standard_output_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("export", "-")
    assert result.exit_code == 2
    assert "name a folder" in result.output
    assert list(tmp_path.iterdir()) == []
