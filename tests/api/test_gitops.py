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
from cep.signing.code import CodeUse, sign
from cep.signing.keys import SigningKey
from percept import Pattern, select
from tests.api.commands import Folder, runner
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.listening import ListeningService, listening_service

ID = "failed-logins"
OTHER_PATTERN = PATTERN | {"within": "5 minutes"}
PAYMENTS = STREAM | {"name": "payments"}
WITHOUT_ACTION = STREAM | {"schema": "user STRING, ts TIMESTAMP"}


@pytest.fixture
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_has_terminal", lambda: True)


def publish(folder: Folder, name: str = ID, **parts: Any) -> Processor:
    """Publish the rule of `processor_document`, or one like it."""
    changes: dict[str, Any] = {"pattern": PATTERN, "key_by": ["user"]} | parts
    return folder.client.publish("logins", name, **changes)


def ids(folder: Folder) -> list[str]:
    return [each.id for each in folder.client.processors()]


def diff_of(result: Result) -> list[str]:
    """Return the lines that a diff in a plan adds and takes away."""
    lines = [line.strip() for line in result.output.splitlines() if line.startswith("    ")]
    return [line for line in lines if line.startswith(("+", "-"))]


# --- what changes


def test_a_folder_is_applied_and_the_second_time_nothing_is_left_to_do(folder: Folder) -> None:
    folder.write("streams.yaml", PAYMENTS)
    folder.write("rules/a.yml", processor_document(id="a"), processor_document(id="b"))
    documents = [processor_document(id=name, stream="payments") for name in ("c", "d")]
    (folder.path / "rules/c.json").write_text(json.dumps(documents))
    (folder.path / "notes.txt").write_text("not a rule")
    assert folder.plan()[:6] == [
        "register stream: stream payments",
        *(f"create: processor {name}" for name in "abcd"),
        "Plan: 1 × register stream, 4 × create, 0 unchanged",  # noqa: RUF001 - "times"
    ]
    assert ids(folder) == ["a", "b", "c", "d"]
    assert folder.apply().output == "Plan: 5 unchanged\n"
    assert folder.client.get("a").version == 1


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_documents_come_through_a_pipe_too(folder: Folder, form: str) -> None:
    documents = [PAYMENTS, processor_document(id="a", stream="payments")]
    text = json.dumps(documents) if form == "json" else yaml.safe_dump_all(documents)
    folder.run("apply", "-", given=text, code=0)
    assert ids(folder) == ["a"]
    wrong = folder.run("apply", "-", given="id: b\nstream: payments\nkey_by: 1\n", code=2)
    assert "standard input:" in wrong.stderr


def test_a_new_version_is_shown_with_its_diff(folder: Folder) -> None:
    publish(folder)
    folder.write("a.yaml", processor_document(pattern=OTHER_PATTERN, severity="high"))
    result = folder.apply("--comment", "commit 1a2b")
    assert f"new version: processor {ID}" in result.output
    for line in ("+severity: high", "-  within: 10 minutes", "+  within: 5 minutes"):
        assert f"    {line}\n" in result.output
    assert folder.client.get(ID).version == 2
    assert folder.client.version(ID, 2).comment == "commit 1a2b"


def test_a_change_of_one_line_is_a_diff_of_one_line(folder: Folder) -> None:
    actions = ["fail", "fail", "fail", "login"]
    example = {
        "name": "three, then in",
        "events": [{"user": "eve", "ts": at, "action": each} for at, each in enumerate(actions)],
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
    folder.client.create(wide)
    # As people write it: what tells more comes first.
    changed = {key: wide[key] for key in ("select", "examples", "pattern", *wide)}
    folder.write("a.yaml", changed | {"pattern": OTHER_PATTERN})
    result = folder.apply("--dry-run")
    assert diff_of(result) == ["-  within: 10 minutes", "+  within: 5 minutes"]
    assert result.output.count("\n    ") <= 7
    renamed = {"who": "login.user", "m": "COUNT(fail.*)", "at": "LAST(login.ts)"}
    folder.write("a.yaml", changed | {"select": renamed})
    assert diff_of(folder.apply("--dry-run")) == ["+  m: COUNT(fail.*)", "-  n: COUNT(fail.*)"]


def test_labels_alone_make_no_version_and_are_those_of_all_versions(folder: Folder) -> None:
    publish(folder, owner="x", tags=["t"])
    folder.write("a.yaml", processor_document(description="d"))
    assert folder.plan()[0] == f"labels only: processor {ID}"
    changed = folder.client.get(ID)
    assert (changed.version, changed.description, changed.owner, changed.tags) == (1, "d", "", [])
    later = processor_document(**LATER, tags=["t"])
    folder.write("a.yaml", processor_document(owner="fraud"), later)
    folder.apply()
    assert (folder.client.get(ID).owner, folder.client.get(ID).tags) == ("fraud", ["t"])
    assert folder.plan() == ["Plan: 1 unchanged"]


PAUSES: dict[str, tuple[bool, dict[str, bool], str, bool]] = {
    "pause": (False, {"paused": True}, f"pause: processor {ID}", True),
    "resume": (True, {"paused": False}, f"resume: processor {ID}", False),
    "stays paused": (True, {}, "Plan: 1 unchanged", True),
    "stays running": (False, {}, "Plan: 1 unchanged", False),
    "is paused": (True, {"paused": True}, "Plan: 1 unchanged", True),
}


@pytest.mark.parametrize("case", PAUSES)
def test_a_file_pauses_and_resumes_only_if_it_says_so(case: str, folder: Folder) -> None:
    before, said, planned, after = PAUSES[case]
    publish(folder, paused=before)
    folder.write("a.yaml", processor_document() | said)
    assert (folder.plan()[0], folder.client.get(ID).is_paused) == (planned, after)


def test_pausing_comes_before_a_new_version_and_resuming_after_it(
    folder: Folder, listening: ListeningService
) -> None:
    publish(folder)
    for paused, pattern in ((True, OTHER_PATTERN), (False, PATTERN)):
        folder.write("a.yaml", processor_document(pattern=pattern, paused=paused))
        folder.apply()
    log = listening.service.log(processor=ID)
    actions = [change["action"].removeprefix("processor.") for change in reversed(log)]
    assert actions == ["create", "pause", "publish", "publish", "resume"]


def test_another_spelling_is_no_change_and_a_stream_is_redefined(folder: Folder) -> None:
    publish(folder, tags=["b", "a"])
    spelled = {"steps": PATTERN["steps"], "within_ms": 600_000}
    document = processor_document(pattern=spelled, tags=["a", "b", "a"], key_by="user")
    folder.write("a.yaml", document)
    assert folder.plan() == ["Plan: 1 unchanged"]
    folder.write("stream.yaml", STREAM | {"allowed_delay_ms": 9})
    assert folder.plan()[0] == "redefine stream: stream logins"
    assert folder.client.stream("logins").allowed_delay_ms == 9


def test_a_cancelled_version_is_not_published_again(
    folder: Folder, listening: ListeningService
) -> None:
    publish(folder)
    publish(folder, pattern=OTHER_PATTERN, effective_from="2030-01-01T00:00:00Z")
    listening.service.done("POST", f"/v1/processors/{ID}/versions/2/cancel")
    folder.write("a.yaml", processor_document())
    assert folder.plan() == ["Plan: 1 unchanged"]


def test_times_without_quotes_are_times(folder: Folder) -> None:
    example = {"events": [{"ts": "2026-01-01T00:00:00Z", "action": "none"}]}
    text = yaml.safe_dump(processor_document(examples=[example])).replace("'2026", "2026")
    text = text.replace("00Z'", "00Z")
    (folder.path / "a.yaml").write_text(f"{text}\neffective_from: 2030-01-01T00:00:00Z\n")
    folder.apply()
    assert folder.client.get(ID).published[0].effective_from == 1_893_456_000_000


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
def test_documents_of_one_id_are_its_versions_by_time(case: str, folder: Folder) -> None:
    before, after, planned, numbers = SCHEDULES[case]
    for version in before:
        publish(folder, **version)
    folder.write("a.yaml", *(processor_document(**version) for version in after))
    assert folder.plan()[0] == (f"{planned}: processor {ID}" if planned else "Plan: 1 unchanged")
    assert [published.version for published in folder.client.get(ID).published] == numbers
    assert folder.apply().output == "Plan: 1 unchanged\n"


# --- pruning


def test_only_prune_deletes_and_only_in_streams_the_files_name(folder: Folder) -> None:
    folder.client.register_stream(PAYMENTS)
    publish(folder, "stray")
    folder.client.publish("payments", "other", pattern=PATTERN)
    folder.write("a.yaml", processor_document())
    folder.write("b.yaml", PAYMENTS, processor_document(id="b", stream="payments"))
    folder.apply()
    assert ids(folder) == ["b", ID, "other", "stray"]
    assert "delete: processor other" in folder.plan("--stream", "payments", "--prune")
    assert ids(folder) == ["b", ID, "stray"]
    (folder.path / "b.yaml").unlink()
    assert folder.plan("--prune")[0] == "delete: processor stray"
    assert ids(folder) == ["b", ID]


@pytest.mark.parametrize("options", [[], ["--stream", "logins"]])
def test_an_empty_folder_never_deletes_everything(options: list[str], folder: Folder) -> None:
    publish(folder, "stray")
    if options:
        folder.write("a.yaml", PAYMENTS)
    assert "there is no document" in folder.apply("--prune", *options, code=2).output
    assert ids(folder) == ["stray"]


# --- asking, and not doing it


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--detailed-exitcode"], 3)])
def test_a_dry_run_shows_the_plan_and_changes_nothing(
    options: list[str], code: int, folder: Folder
) -> None:
    folder.write("a.yaml", processor_document())
    assert folder.plan("--dry-run", *options, code=code)[0] == f"create: processor {ID}"
    assert ids(folder) == []
    publish(folder)
    folder.apply("--dry-run", *options)


ANSWERS: dict[str, tuple[list[str], bool]] = {
    "y\n": ([], True),
    "n\n": ([], False),
    "": (["--yes"], True),
}


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("answer", ANSWERS)
def test_on_a_terminal_it_asks(answer: str, folder: Folder) -> None:
    options, made = ANSWERS[answer]
    folder.write("a.yaml", processor_document())
    result = folder.apply(*options, given=answer, code=0 if made else 1)
    assert ("Make these changes?" in result.output) is bool(answer)
    assert ids(folder) == [ID] * made


# --- what is wrong


def test_every_problem_of_every_file_is_told_in_one_go_with_its_place(folder: Folder) -> None:
    publish(folder, "published")
    for stream in (STREAM | {"name": "orders"}, PAYMENTS):
        folder.client.register_stream(stream)
    for name, text in {
        "a.yaml": "id: a\nstream: logins\npatern: {}\npattern:\n  steps:\n  - name: x\n---\n"
        "id: b\nstream: logins\npattern:\n  steps:\n"
        "  - name: x\n    where: amuont > 1\n  - name: y\n    contiguity: nxet\n",
        "b.yaml": "id: c\nstream: logins\npattern:\n  steps:\n  - name: x\n"
        "    where: action = 'a' AND amuont > 1\nkey_by: [usr]\n",
        "c.json": '{"id": "d", "stream": "nowhere",\n "pattern": {"steps": [{"name": "x"}]}}',
        "d.yaml": "id: [\n",
        "e.yaml": "name: s\nschema: a STRNG\nevent_time_column: ts\n",
        "f.yaml": "- just text\n---\nfoo: 1\n",
    }.items():
        (folder.path / name).write_text(text)
    example = {"events": [{"ts": 1, "user": "u"}], "matches": [{"fail": [0]}]}
    rule = processor_document(id="e", stream="payments")
    folder.write("g.yaml", rule | {"sevrity": "low", "key_by": ["usr"], "examples": [example]})
    unknown_column = {"steps": [{"name": "x", "tims": 3, "where": "amuont > 1"}]}
    folder.write("h.yaml", rule | {"pattern": unknown_column})
    folder.write("i.yaml", rule | {"id": "f", "key_by": ["tags"]})
    folder.write("j.yaml", processor_document(id="g", stream="orders", examples=[example]))
    folder.write("k.yaml", PAYMENTS | {"event_time_column": "tss", "dely": 1})
    folder.write("l.yaml", STREAM | {"schema": "name STRING, action STRING, ts TIMESTAMP"})
    told = folder.apply(code=2).output.replace(f"{folder.path}/", "")
    for line in (
        "a.yaml:3:1: patern: unknown key. Did you mean 'pattern'?",
        "a.yaml:15:5: pattern.steps[1].contiguity: 'nxet' is not known. Did you mean 'next'?",
        "b.yaml:6:29: pattern.steps[0].where: ",
        "b.yaml:7:10: key_by[0]: there is no column usr.",
        "c.json:1:13: stream: there is no stream 'nowhere'",
        "d.yaml:2:1: ",
        "e.yaml:2:9: schema: ",
        "f.yaml:1:3: a document is a mapping",
        "f.yaml:3:1: neither a rule (id, stream, pattern), a stream (name, schema) nor",
        "g.yaml:14:1: sevrity: unknown key. Did you mean 'severity'?",
        "g.yaml:13:3: key_by[0]: there is no column usr. Did you mean user?",
        "h.yaml:1:1: id: 'e' is also in g.yaml, with the same effective_from",
        "h.yaml:6:5: pattern.steps[0].tims: unknown key. Did you mean 'times'?",
        "h.yaml:7:12: pattern.steps[0].where: there is no column amuont. Did you mean amount?",
        "i.yaml:13:3: key_by[0]: there is no column tags.",
        "j.yaml:18:3: examples[0].matches: Expected and not found",
        "k.yaml:3:1: event_time_column: The schema has no column tss. Did you mean ts?",
        "k.yaml:5:1: dely: unknown key.",
        "l.yaml:2:1: schema: what is published does not fit: 'published', version 1, key_by[0]: ",
        "nothing was changed.",
    ):
        assert line in told, f"{line}\n{told}"
    assert ids(folder) == ["published"]


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


@pytest.mark.parametrize("before", [[], [PAYMENTS]], ids=["new", "known"])
@pytest.mark.parametrize("case", UNFIT)
def test_what_a_publish_refuses_is_refused_before_a_stream_is_changed(
    case: str, before: list[dict[str, Any]], folder: Folder
) -> None:
    changes, told = UNFIT[case]
    for stream in before:
        folder.client.register_stream(stream)
    folder.write("a.yaml", TAGGED, processor_document(stream="payments", **changes))
    output = folder.apply(code=2).output
    assert told in output
    assert "1 problem; nothing was changed." in output
    schemas = [each.ddl for each in folder.client.streams() if each.name == "payments"]
    assert schemas == [stream["schema"] for stream in before]


def test_a_service_that_refuses_the_token_hides_no_mistake_in_files(folder: Folder) -> None:
    for mistake, told in (({}, ""), ({"sevrity": "low"}, "sevrity: unknown key")):
        folder.write("a.yaml", processor_document(**mistake))
        output = folder.apply(token="percept_wrong", code=1).output  # noqa: S106
        assert told in output
        assert "401 The token is not valid" in output
        assert "percept_wrong" not in output


def test_warnings_are_shown_with_the_plan_whether_the_stream_is_new_or_not(folder: Folder) -> None:
    endless = {"steps": [{"name": "a", "where": "1 = 2", "times": {"from": 1, "to": None}}]}
    folder.write("stream.yaml", PAYMENTS)
    files = {
        stream: folder.write(
            f"{stream}.yaml", processor_document(id=stream, stream=stream, pattern=endless)
        )
        for stream in ("payments", "logins")
    }
    output = folder.apply("--dry-run").output
    for file in files.values():
        for told in (
            f"    warning: {file}:7:5: pattern.steps[0].times: a loop without until",
            f"    warning: {file}:6:5: pattern.steps[0].where: the condition is never true",
        ):
            assert output.count(told) == 1, output


def test_another_stream_a_missing_file_and_a_url_that_leaks_are_bad_input(folder: Folder) -> None:
    folder.client.register_stream(PAYMENTS)
    publish(folder)
    folder.write("a.yaml", processor_document(stream="payments"))
    assert "stream: 'failed-logins' stays on stream 'logins'" in folder.apply(code=2).output
    folder.run("apply", folder.path / "none.yaml", code=2)
    folder.write("a.yaml", processor_document())
    folder.apply("--url", "http://rules.example.com", code=2)


# --- others change things, too


def test_rules_of_a_stream_are_one_epoch(folder: Folder, listening: ListeningService) -> None:
    folder.client.register_stream(PAYMENTS)
    for name in ("old", "gone"):
        publish(folder, name)
    folder.write(
        "a.yaml",
        processor_document(id="old", pattern=OTHER_PATTERN, owner="fraud", paused=True),
        processor_document(id="new"),
        processor_document(id="new", effective_from="2030-01-01T00:00:00Z"),
        processor_document(id="quiet", paused=True),
        processor_document(id="other", stream="payments"),
    )
    assert folder.plan("--prune", "--comment", "commit 1a2b")[-7:] == [
        "done: pause + new version old",
        "done: create + new version new",
        "done: create, paused quiet",
        "done: delete gone",
        "Stream logins: epoch 4",
        "done: create other",
        "Stream payments: epoch 2",
    ]
    told = listening.service.log(stream="logins", epoch=4)
    assert {change["comment"] for change in told} == {"commit 1a2b"}
    assert {change["processor_id"] for change in told} == {"old", "new", "quiet", "gone"}
    assert "4 unchanged" in folder.apply("--prune").output


def test_a_change_made_meanwhile_is_told_and_not_lost_and_no_other_is_made(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.client.register_stream(PAYMENTS)
    for name in ("a", "b"):
        publish(folder, name)
    changed = [processor_document(id=name, severity="low") for name in ("a", "b")]
    folder.write("a.yaml", *changed, processor_document(id="c", stream="payments"))
    theirs: list[Processor] = []
    meanwhile(monkeypatch, lambda: theirs.append(publish(folder, "a", pattern=OTHER_PATTERN)))
    lines = folder.apply(code=1).output.splitlines()
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
    assert folder.client.get("a") == theirs[0]
    assert folder.client.get("b").version == 1


def test_what_waits_for_a_stream_is_not_tried_if_its_change_fails(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.yaml", PAYMENTS, processor_document(id="a", stream="payments"))
    folder.write("b.yaml", processor_document(id="b"))
    meanwhile(monkeypatch, lambda: folder.client.register_stream(TAGGED))
    lines = folder.apply(code=1).output.splitlines()
    at = lines.index("1 of 3 changes failed, 1 more were not made.")
    assert lines[at + 1 :] == [
        "    changed: create b",
        "    not changed: register stream payments",
        "    not changed: create a",
    ]
    assert "not made: create a: stream payments is not as planned" in lines
    assert ids(folder) == ["b"]


def test_a_flaw_that_only_the_change_itself_shows_is_told_of_its_rule(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.yaml", *(processor_document(id=name) for name in ("a", "b")))
    meanwhile(monkeypatch, lambda: folder.client.redefine_stream(WITHOUT_ACTION, if_match="*"))
    lines = folder.apply(code=1).output.splitlines()
    at = lines.index("2 of 2 changes failed.")
    assert lines[at - 7].startswith("failed: create b: 422 The document is wrong.")
    assert lines[at - 6].startswith("  /pattern/steps/0/where (line 1, column 1): there is no col")
    assert ids(folder) == []


def test_after_a_service_has_gone_nothing_more_is_tried_and_what_is_unknown_is_said(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.client.register_stream(PAYMENTS)
    folder.write(
        "a.yaml",
        *(processor_document(id=name) for name in ("a", "b")),
        processor_document(id="b", effective_from="2030-01-01T00:00:00Z"),
        processor_document(id="c", stream="payments"),
    )
    change_rules = Client.change_rules

    def without_answer(self: Client, *arguments: Any, **options: Any) -> Any:
        change_rules(self, *arguments, **options)
        raise Unreachable("the connection was reset")

    monkeypatch.setattr(Client, "change_rules", without_answer)
    assert folder.apply(code=1).output.splitlines()[-4:] == [
        "2 of 3 changes failed, 1 more were not made.",
        "    perhaps changed: create a",
        "    perhaps changed: create + new version b",
        "    not changed: create c",
    ]
    assert ids(folder) == ["a", "b"]


@pytest.mark.parametrize("bound", ["MOST_CHANGES", "MOST_BYTES"])
def test_more_than_a_set_takes_is_several_and_none_after_one_that_fails(
    bound: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [processor_document(id=name) for name in "abcdef"]
    size = {"MOST_CHANGES": 2, "MOST_BYTES": 5 * len(json.dumps(documents[0])) // 2 + 150}[bound]
    monkeypatch.setattr(rule_sets, bound, size)
    folder.write("a.yaml", *documents)
    meanwhile(monkeypatch, lambda: folder.client.create(documents[3]))
    output = folder.apply(code=1).output
    assert "Stream logins: epoch 3; more than fits into a set, so others follow" in output
    assert output.splitlines()[-7:] == [
        "1 of 6 changes failed, 3 more were not made.",
        "    changed: create a",
        "    changed: create b",
        *(f"    not changed: create {name}" for name in "cdef"),
    ]
    assert ids(folder) == ["a", "b", "d"]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let somebody else act between the plan and the changes."""
    carry_out = Execution.carry_out

    def after_somebody_else(self: Execution, plan: Plan) -> Any:
        act()
        return carry_out(self, plan)

    monkeypatch.setattr(Execution, "carry_out", after_somebody_else)


# --- exporting


@pytest.fixture
def folder_on_both(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Folder]:
    with listening_service(database_url) as listening, listening.client() as client:
        yield Folder(tmp_path, runner(listening, monkeypatch), client)


@pytest.mark.parametrize("file_format", ["yaml", "json"])
def test_apply_finds_unchanged_what_was_exported(file_format: str, folder_on_both: Folder) -> None:
    folder, client = folder_on_both, folder_on_both.client
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
    folder.run("export", folder.path, "--format", file_format, code=0)
    assert folder.apply("--prune").output == "Plan: 7 unchanged\n"
    assert (folder.path / f"processors/logins/full.of-everything.{file_format}").is_file()
    assert (folder.path / f"streams/payments.{file_format}").is_file()


def test_an_exported_rule_reads_well(folder: Folder) -> None:
    publish(folder, owner="fraud")
    folder.run("export", folder.path, "--stream", "logins")
    text = (folder.path / f"processors/logins/{ID}.yaml").read_text()
    steps = "steps:\n  - name: fail\n    where: action = 'fail'\n    times: 3\n  - name: login\n"
    assert text.startswith(f"id: {ID}\nstream: logins\nowner: fraud\nkey_by:\n- user\npattern:\n  ")
    assert steps in text
    assert text.endswith("    where: action = 'login'\n  within: 10 minutes\n")


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


def test_a_clause_is_kept_as_it_was_written_and_a_change_is_a_diff_of_its_lines(
    folder: Folder,
) -> None:
    file = folder.path / "rule.yaml"
    file.write_text(CLAUSE_FILE)
    assert folder.plan()[0] == "create: processor guessed"
    assert folder.plan() == ["Plan: 1 unchanged"]
    for file_format in ("yaml", "json"):
        exported = folder.path / file_format
        folder.run("export", exported, "--format", file_format)
        assert folder.run("apply", exported, "--prune").output == "Plan: 2 unchanged\n"
    assert (folder.path / "yaml/processors/logins/guessed.yaml").read_text() == CLAUSE_FILE
    file.write_text(CLAUSE_FILE.replace("FAIL{3,}", "FAIL{5,}"))
    assert diff_of(folder.run("apply", file)) == [
        "-      PATTERN (FAIL{3,} LOGIN) WITHIN INTERVAL '10' MINUTE",
        "+      PATTERN (FAIL{5,} LOGIN) WITHIN INTERVAL '10' MINUTE",
    ]
    assert folder.client.get("guessed").version == 2


def test_a_mistake_in_a_clause_is_told_with_the_line_of_its_file(folder: Folder) -> None:
    (folder.path / "rule.yaml").write_text(CLAUSE_FILE.replace("LOGIN AS action", "LOGIN AS acton"))
    told = "rule.yaml:11:48: pattern.match_recognize: there is no column acton"
    assert told in folder.apply(code=2).output


def test_files_that_are_left_and_those_that_only_capital_letters_tell_apart_are_named(
    folder: Folder,
) -> None:
    for name in ("gone", "a", "B", "A"):
        publish(folder, name)
    of_stream = folder.path / "processors" / "logins"
    output = folder.run("export", folder.path).output
    assert f"    {of_stream}/A.yaml, {of_stream}/a.yaml\n" in output
    assert "B.yaml" not in output
    folder.client.delete("gone")
    assert f"{of_stream}/gone.yaml" in folder.run("export", folder.path).output
    assert (of_stream / "gone.yaml").exists()


def test_an_export_to_standard_output_or_what_cannot_be_written_is_refused(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    assert "name a folder" in folder.run("export", "-", code=2).output
    assert list(folder.path.iterdir()) == []
    (folder.path / "streams").write_text("a file")
    folder.run("export", folder.path, code=1)


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
