"""Lists in a repository: `percept apply` and `percept export`, and commands without a service."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from api.client import Client, ListVersionLine
from api.client.lists import ListClient
from api.gitops import execution
from api.gitops.list_planning import lines_of
from cep.list_content import list_content, list_digest
from contract.service.tokens import Role
from percept.command_line import app
from tests.api.commands import Run, write
from tests.api.documents import STREAM, processor_document
from tests.api.listening import ListeningService
from tests.api.test_gitops import plan_of

NAMING = {"steps": [{"name": "any", "where": "user IN LIST('vip')"}]}
EXAMPLE = {"name": "eve", "events": [{"ts": 1, "user": "eve"}], "matches": [{"any": [0]}]}


def vip(folder: Path, *values: str, **document: Any) -> Path:
    """Write the list `vip` with these values."""
    file = write(
        folder / "lists" / "vip.yaml",
        {"list": "vip", "stream": "logins", "file": "vip.csv"} | document,
    )
    (file.parent / "vip.csv").write_text("".join(f"{value}\n" for value in values))
    return file


def versions(client: Client) -> list[ListVersionLine]:
    return list(client.lists("logins").versions("vip"))


# --- apply


def test_a_list_is_there_before_the_rule_that_names_it(
    run: Run, client: Client, tmp_path: Path
) -> None:
    write(tmp_path / "rule.yaml", processor_document(id="a", pattern=NAMING, examples=[EXAMPLE]))
    vip(tmp_path, "eve", "bob", description="Who is called first.")
    dry = run("apply", tmp_path, "--dry-run")
    assert plan_of(dry) == [
        "create + new values: list logins/vip",
        "create: processor a",
        "Plan: 1 × create + new values, 1 × create, 0 unchanged",  # noqa: RUF001 - "times"
    ]
    assert "    + 2 values\n" in dry.output
    assert not list(client.lists("logins").all())

    assert run("apply", tmp_path, "--comment", "commit 1").exit_code == 0
    assert list(client.lists("logins").values("vip")) == ["bob", "eve"]
    assert [each.comment for each in versions(client)] == ["commit 1", "commit 1"]
    assert client.lists("logins").read("vip").description == "Who is called first."
    assert client.get("a").version == 1
    again = run("apply", tmp_path)
    assert (again.exit_code, again.output) == (0, "Plan: 2 unchanged\n")


def test_only_other_values_make_a_version(run: Run, client: Client, tmp_path: Path) -> None:
    vip(tmp_path, "eve", "bob")
    run("apply", tmp_path)
    vip(tmp_path, "bob", "", '"eve"', "bob")
    assert plan_of(run("apply", tmp_path)) == ["Plan: 1 unchanged"]
    vip(tmp_path, "ana", "bob", description="new")
    result = run("apply", tmp_path)
    assert "    + 1 value: 'ana'\n    - 1 value: 'eve'\n    + description: new\n" in result.output
    assert list(client.lists("logins").values("vip")) == ["ana", "bob"]
    assert (versions(client)[0].added, versions(client)[0].removed) == (1, 1)
    assert len(versions(client)) == 3


def test_a_document_without_values_leaves_them_to_the_service(
    run: Run, client: Client, tmp_path: Path
) -> None:
    write(tmp_path / "vip.yaml", {"list": "vip", "stream": "logins"})
    assert run("apply", tmp_path).exit_code == 0
    client.lists("logins").put("vip", ["ana"])
    assert plan_of(run("apply", tmp_path)) == ["Plan: 1 unchanged"]


def test_values_may_stand_in_the_document(run: Run, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "days.yaml"
    file.write_text("list: days\nstream: logins\ntype: DATE\nvalues: [2026-12-24, '2026-12-25']\n")
    assert run("apply", tmp_path).exit_code == 0
    assert list(client.lists("logins").values("days")) == ["2026-12-24", "2026-12-25"]


def test_a_change_takes_back_what_is_scheduled_and_says_so(
    run: Run, client: Client, tmp_path: Path
) -> None:
    lists = client.lists("logins")
    lists.create("vip")
    lists.put("vip", ["eve"])
    lists.put("vip", ["bob"], effective_from="2099-01-01T00:00:00Z")
    vip(tmp_path, "eve")
    assert plan_of(run("apply", tmp_path)) == ["Plan: 1 unchanged"]
    vip(tmp_path, "ana")
    assert "    - version 3, which is scheduled\n" in run("apply", tmp_path).output
    assert [each.version for each in lists.read("vip").published] == [4]


@pytest.mark.parametrize(
    ("document", "text", "told"),
    [
        ({"file": "other.csv"}, "", "other.csv: cannot be read: No such file"),
        ({"file": "../vip.csv"}, "", "without .. in its path"),
        ({"file": "/etc/passwd"}, "", "file names a file beside this one"),
        ({"values": ["a"]}, "", "values and file exclude each other"),
        ({"type": "BIGINT"}, "1\n\nx\n", "vip.csv:3: 'x' is no BIGINT"),
        ({"type": "DOUBLE"}, "", "type: 'DOUBLE' is not known"),
        ({"stream": "nowhere"}, "a\n", "stream: there is no stream 'nowhere'"),
        ({"list": "a b"}, "a\n", "list: 'a b' does not fit"),
        ({"owner": "me"}, "a\n", "owner: unknown key"),
        ({}, "a,b\n", "vip.csv:1: 2 columns; a list has one"),
        ({}, 'a\n"b\n', "vip.csv:2: unexpected end of data"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_nothing_is_changed(  # noqa: PLR0913, PLR0917
    run: Run, client: Client, tmp_path: Path, document: dict[str, Any], text: str, told: str
) -> None:
    file = vip(tmp_path, **document)
    (file.parent / "vip.csv").write_text(text)
    write(tmp_path / "rule.yaml", processor_document())
    result = run("apply", tmp_path)
    assert result.exit_code == 2
    assert told in result.output
    assert not list(client.processors())


def test_rules_and_lists_must_fit_each_other(run: Run, client: Client, tmp_path: Path) -> None:
    client.lists("logins").create("ids", "BIGINT")
    of_ids = {"steps": [{"name": "any", "where": "user IN LIST('ids')"}]}
    of_none = {"steps": [{"name": "any", "where": "user IN LIST('vpi')"}]}
    wrong = EXAMPLE | {"events": [{"ts": 1, "user": "bob"}]}
    vip(tmp_path, "eve")
    write(
        tmp_path / "rules.yaml",
        processor_document(id="a", pattern=of_ids),
        processor_document(id="b", pattern=of_none),
        processor_document(id="c", pattern=NAMING, examples=[wrong]),
    )
    result = run("apply", tmp_path)
    assert result.exit_code == 2
    for told in (
        "the list 'ids' is of BIGINT",
        "there is no list 'vpi'. Did you mean vip?",
        'Expected and not found: {"any":[0]}',
    ):
        assert told in result.output
    write(tmp_path / "rules.yaml", processor_document(id="a", pattern=NAMING))
    vip(tmp_path, "1", type="BIGINT", list="ids")
    assert "there is no list 'vip'" in run("apply", tmp_path).output
    vip(tmp_path, "x", list="ids")
    assert "the list is of type BIGINT, which stays" in run("apply", tmp_path).output


def test_examples_see_the_values_that_are_to_be(run: Run, client: Client, tmp_path: Path) -> None:
    client.lists("logins").create("vip")
    vip(tmp_path, "eve")
    write(tmp_path / "rule.yaml", processor_document(id="a", pattern=NAMING, examples=[EXAMPLE]))
    assert run("apply", tmp_path).exit_code == 0
    assert client.get("a").version == 1


def test_prune_deletes_lists_only_where_files_have_some(
    run: Run, client: Client, tmp_path: Path
) -> None:
    lists = client.lists("logins")
    for name in ("old", "other"):
        lists.create(name)
    client.publish(
        "logins", "a", pattern={"steps": [{"name": "a", "where": "user IN LIST('old')"}]}
    )
    write(tmp_path / "stream.yaml", STREAM)
    write(tmp_path / "rule.yaml", processor_document(id="b"))
    assert run("apply", tmp_path, "--prune", "--dry-run").output.count("list") == 0
    vip(tmp_path, "eve")
    result = run("apply", tmp_path, "--prune")
    assert result.exit_code == 0, result.output
    done = [line for line in result.output.splitlines() if line.startswith("done")]
    assert done == [
        "done: create + new values logins/vip",
        "done: create b",
        "done: delete a",
        "done: delete logins/old",
        "done: delete logins/other",
    ]
    assert [each.name for each in lists.all()] == ["vip"]


def test_no_rule_of_a_stream_is_published_over_a_list_that_failed(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.lists("logins").create("vip")
    vip(tmp_path, "eve")
    write(tmp_path / "rule.yaml", processor_document(id="a", pattern=NAMING))
    write(tmp_path / "other.yaml", processor_document(id="b"))
    carried_out = execution._taken

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(execution, "_taken", carried_out)
        client.lists("logins").put("vip", ["ana"])
        return carried_out(*arguments)

    monkeypatch.setattr(execution, "_taken", overtaken)
    result = run("apply", tmp_path)
    assert result.exit_code == 1
    assert "failed: new values logins/vip: was changed by somebody else" in result.output
    assert "not made: create a: list logins/vip is not as planned" in result.output
    assert list(client.processors()) == []
    assert list(client.lists("logins").values("vip")) == ["ana"]


def test_a_file_that_changes_after_the_plan_is_not_applied(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.lists("logins").create("vip")
    vip(tmp_path, "eve")
    carried_out = execution._taken

    def changed(*arguments: Any) -> Any:
        vip(tmp_path, "mallory")
        return carried_out(*arguments)

    monkeypatch.setattr(execution, "_taken", changed)
    result = run("apply", tmp_path)
    assert result.exit_code == 1
    assert "it has just changed" in result.output
    assert not list(client.lists("logins").values("vip"))


def test_lists_need_approvals_where_rules_do(run: Run, client: Client, tmp_path: Path) -> None:
    client.require_approvals("logins", 1)
    vip(tmp_path, "eve")
    result = run("apply", tmp_path)
    assert result.exit_code == 1
    assert "must be approved" in result.output
    assert not list(client.lists("logins").all())
    write(tmp_path / "lists" / "vip.yaml", {"list": "vip", "stream": "logins"})
    assert run("apply", tmp_path).exit_code == 0


def test_authors_may_see_the_plan(
    listening: ListeningService, run: Run, client: Client, tmp_path: Path
) -> None:
    client.lists("logins").create("vip")
    vip(tmp_path, "eve")
    token = listening.service.token_of[Role.AUTHOR]
    result = run("apply", tmp_path, "--dry-run", "--token", token)
    assert result.exit_code == 0
    assert "+ 1 value: 'eve'" in result.output


# --- export


def test_what_is_exported_is_found_unchanged(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = ["a,b", 'say "x"', " spaced ", "two\nlines", "ü", "carriage\rreturn"]
    lists = client.lists("logins")
    lists.create("odd", description="of all kinds")
    lists.put("odd", odd)
    lists.put("odd", ["later"], effective_from="2099-01-01T00:00:00Z")
    for name, kind, values in (("ids", "BIGINT", [1, -(2**63)]), ("empty", "DATE", [])):
        lists.create(name, kind)  # type: ignore[arg-type]
        lists.put(name, values)
    client.publish(
        "logins", "a", pattern={"steps": [{"name": "a", "where": "user IN LIST('odd')"}]}
    )
    # What is to be known of a list stands in the listing: none is asked for by itself.
    monkeypatch.delattr(ListClient, "read")
    assert run("export", tmp_path).exit_code == 0
    folder = tmp_path / "lists" / "logins"
    assert sorted(each.name for each in folder.iterdir()) == [
        "empty.csv", "empty.yaml", "ids.csv", "ids.yaml", "odd.csv", "odd.yaml",
    ]  # fmt: skip
    assert b"\r\n" not in (folder / "odd.csv").read_bytes()
    assert yaml.safe_load((folder / "odd.yaml").read_text())["description"] == "of all kinds"
    assert plan_of(run("apply", tmp_path, "--prune")) == ["Plan: 5 unchanged"]
    lists.delete("empty")
    assert "lists/logins/empty.csv" in run("export", tmp_path).output.replace("\n", "")


def test_lines_do_not_depend_on_the_pieces_they_come_in() -> None:
    text = b'a\r\n"b\nc"\r\nd'
    for cut in range(len(text)):
        assert "".join(lines_of([text[:cut], text[cut:]])) == text.decode()
        assert list(lines_of([text[:cut], text[cut:]])) == ["a\r\n", '"b\n', 'c"\r\n', "d"]


# --- without a service


def test_commands_find_lists_beside_rules(tmp_path: Path) -> None:
    write(tmp_path / "stream.yaml", STREAM)
    rule = write(
        tmp_path / "rule.yaml", processor_document(id="a", pattern=NAMING, examples=[EXAMPLE])
    )
    vip(tmp_path, "eve")
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps({"ts": 1, "user": "eve"}))
    for words in (
        ["test", rule],
        ["test", tmp_path],
        ["match", rule, events],
        ["why", rule, events],
        ["backtest", rule, "-e", events],
    ):
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exit_code == 0, f"{words[0]}: {result.output}"
        assert "FAILED" not in result.output
    result = CliRunner().invoke(app, ["match", str(rule), str(events)])
    assert "1 found" in result.stdout
    (tmp_path / "bob.csv").write_text("bob\n")
    given = CliRunner().invoke(app, ["test", str(rule), "--list", f"vip={tmp_path / 'bob.csv'}"])
    assert given.exit_code == 1


def test_a_list_without_values_has_a_type_and_is_missing_to_examples(tmp_path: Path) -> None:
    write(tmp_path / "stream.yaml", STREAM)
    write(tmp_path / "vip.yaml", {"list": "vip", "stream": "logins"})
    file = write(tmp_path / "rule.yaml", processor_document(id="a", pattern=NAMING))
    assert CliRunner().invoke(app, ["test", str(tmp_path)]).exit_code == 0
    write(file, processor_document(id="a", pattern=NAMING, examples=[EXAMPLE]))
    result = CliRunner().invoke(app, ["test", str(tmp_path)])
    assert result.exit_code == 1
    assert "--list vip=vip.csv" in result.stdout


def test_digests_are_those_of_the_service(run: Run, client: Client, tmp_path: Path) -> None:
    vip(tmp_path, "ü", "a,b".join('""'))
    run("apply", tmp_path)
    assert versions(client)[0].digest == list_digest(list_content(["ü", "a,b"]))
