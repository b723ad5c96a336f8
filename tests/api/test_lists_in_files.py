"""Lists in a repository: `percept apply` and `percept export`, and commands without a service."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.client import ListVersionLine
from api.client.lists import ListClient
from api.gitops import execution
from api.gitops.list_planning import lines_of
from cep.list_content import list_content, list_digest
from contract.service.tokens import Role
from tests.api.commands import Folder, ended, steps_of
from tests.api.documents import PATTERN, STREAM, processor_document

NAMING = {"steps": [{"name": "any", "where": "user IN LIST('vip')"}]}
EXAMPLE = {"name": "eve", "events": [{"ts": 1, "user": "eve"}], "matches": [{"any": [0]}]}


def vip(folder: Folder, *values: str, **document: Any) -> Path:
    """Write the list `vip` with these values."""
    text = "".join(f"{value}\n" for value in values)
    whole = {"list": "vip", "stream": "logins", "file": "vip.csv"} | document
    file = folder.write("lists/vip.yaml", whole)
    file.with_name("vip.csv").write_text(text)
    return file


def rule(folder: Folder, name: str = "a", **changes: Any) -> None:
    """Write a rule that names the list `vip`."""
    folder.write(f"{name}.yaml", processor_document(id=name, **{"pattern": NAMING} | changes))


def values(folder: Folder, name: str = "vip") -> list[str]:
    return list(folder.client.lists("logins").values(name))


def versions(folder: Folder) -> list[ListVersionLine]:
    return list(folder.client.lists("logins").versions("vip"))


def test_a_list_is_there_before_the_rule_that_names_it(folder: Folder) -> None:
    rule(folder, examples=[EXAMPLE])
    vip(folder, "eve", "bob", description="Who is called first.")
    dry = folder.apply("--dry-run")
    assert steps_of(dry) == [
        "create + new values: list logins/vip",
        "create: processor a",
        "Plan: 1 × create + new values, 1 × create, 0 unchanged",  # noqa: RUF001 - "times"
    ]
    assert "    + 2 values\n" in dry.output
    lists = folder.client.lists("logins")
    assert not list(lists.all())
    folder.apply("--comment", "commit 1")
    assert values(folder) == ["bob", "eve"]
    assert [each.comment for each in versions(folder)] == ["commit 1", "commit 1"]
    assert lists.read("vip").description == "Who is called first."
    assert folder.client.get("a").version == 1
    assert folder.apply().output == "Plan: 2 unchanged\n"


def test_only_other_values_make_a_version_whose_digest_is_that_of_the_service(
    folder: Folder,
) -> None:
    vip(folder, "eve", "bob")
    folder.apply()
    vip(folder, "bob", "", '"eve"', "bob")
    assert folder.plan() == ["Plan: 1 unchanged"]
    vip(folder, "ana", "bob", description="new")
    told = "    + 1 value: 'ana'\n    - 1 value: 'eve'\n    + description: new\n"
    assert told in folder.apply().output
    assert values(folder) == ["ana", "bob"]
    assert (versions(folder)[0].added, versions(folder)[0].removed) == (1, 1)
    assert len(versions(folder)) == 3
    vip(folder, "ü", "a,b".join('""'))
    folder.apply()
    assert versions(folder)[0].digest == list_digest(list_content(["ü", "a,b"]))


def test_values_stand_in_the_document_or_are_left_to_the_service(folder: Folder) -> None:
    folder.write("vip.yaml", {"list": "vip", "stream": "logins"})
    text = "list: days\nstream: logins\ntype: DATE\nvalues: [2026-12-24, '2026-12-25']\n"
    (folder.path / "days.yaml").write_text(text)
    folder.apply()
    assert values(folder, "days") == ["2026-12-24", "2026-12-25"]
    folder.client.lists("logins").put("vip", ["ana"])
    assert folder.plan() == ["Plan: 2 unchanged"]


def test_a_change_takes_back_what_is_scheduled_and_says_so(folder: Folder) -> None:
    lists = folder.client.lists("logins")
    lists.create("vip")
    lists.put("vip", ["eve"])
    lists.put("vip", ["bob"], effective_from="2099-01-01T00:00:00Z")
    vip(folder, "eve")
    assert folder.plan() == ["Plan: 1 unchanged"]
    vip(folder, "ana")
    assert "    - version 3, which is scheduled\n" in folder.apply().output
    assert [each.version for each in lists.read("vip").published] == [4]


def test_what_is_wrong_is_told_with_its_place_and_nothing_is_changed(folder: Folder) -> None:
    for document, text, told in (
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
    ):
        vip(folder, **document).with_name("vip.csv").write_text(text)
        rule(folder, pattern=PATTERN)
        assert told in folder.apply(code=2).output
        assert not list(folder.client.processors())


def test_rules_and_lists_must_fit_each_other(folder: Folder) -> None:
    folder.client.lists("logins").create("ids", "BIGINT")
    wrong = EXAMPLE | {"events": [{"ts": 1, "user": "bob"}]}
    vip(folder, "eve")
    for name, named in (("b", "ids"), ("c", "vpi")):
        where = f"user IN LIST('{named}')"
        rule(folder, name, pattern={"steps": [{"name": "any", "where": where}]})
    rule(folder, examples=[wrong])
    output = folder.apply(code=2).output
    for told in (
        "the list 'ids' is of BIGINT",
        "there is no list 'vpi'. Did you mean vip?",
        'Expected and not found: {"any":[0]}',
    ):
        assert told in output
    for name in ("b", "c"):
        (folder.path / f"{name}.yaml").unlink()
    rule(folder)
    vip(folder, "1", type="BIGINT", list="ids")
    assert "there is no list 'vip'" in folder.apply(code=2).output
    vip(folder, "x", list="ids")
    assert "the list is of type BIGINT, which stays" in folder.apply(code=2).output


def test_examples_see_the_values_that_are_to_be(folder: Folder) -> None:
    folder.client.lists("logins").create("vip")
    vip(folder, "eve")
    rule(folder, examples=[EXAMPLE])
    folder.apply()
    assert folder.client.get("a").version == 1


def test_prune_deletes_lists_only_where_files_have_some(folder: Folder) -> None:
    lists = folder.client.lists("logins")
    for name in ("old", "other"):
        lists.create(name)
    naming_old = {"steps": [{"name": "a", "where": "user IN LIST('old')"}]}
    folder.client.publish("logins", "a", pattern=naming_old)
    folder.write("stream.yaml", STREAM)
    rule(folder, "b", pattern=PATTERN)
    assert folder.apply("--prune", "--dry-run").output.count("list") == 0
    vip(folder, "eve")
    assert [line for line in folder.plan("--prune") if line.startswith("done")] == [
        "done: create + new values logins/vip",
        "done: create b",
        "done: delete a",
        "done: delete logins/old",
        "done: delete logins/other",
    ]
    assert [each.name for each in lists.all()] == ["vip"]


def before_it_is_carried_out(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen after the plan."""
    carried_out = execution._taken

    def after_that(*arguments: Any) -> Any:
        monkeypatch.setattr(execution, "_taken", carried_out)
        act()
        return carried_out(*arguments)

    monkeypatch.setattr(execution, "_taken", after_that)


def test_no_rule_of_a_stream_is_published_over_a_list_that_failed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = folder.client.lists("logins")
    lists.create("vip")
    vip(folder, "eve")
    rule(folder)
    rule(folder, "b", pattern=PATTERN)
    before_it_is_carried_out(monkeypatch, lambda: lists.put("vip", ["ana"]))
    output = folder.apply(code=1).output
    assert "failed: new values logins/vip: was changed by somebody else" in output
    assert "not made: create a: list logins/vip is not as planned" in output
    assert list(folder.client.processors()) == []
    assert values(folder) == ["ana"]


def test_a_file_that_changes_after_the_plan_is_not_applied(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.client.lists("logins").create("vip")
    vip(folder, "eve")
    before_it_is_carried_out(monkeypatch, lambda: vip(folder, "mallory"))
    assert "it has just changed" in folder.apply(code=1).output
    assert values(folder) == []


def test_lists_need_approvals_where_rules_do_and_authors_see_the_plan(folder: Folder) -> None:
    folder.client.require_approvals("logins", 1)
    vip(folder, "eve")
    assert "must be approved" in folder.apply(code=1).output
    assert not list(folder.client.lists("logins").all())
    folder.write("lists/vip.yaml", {"list": "vip", "stream": "logins"})
    folder.apply()
    vip(folder, "eve")
    assert "+ 1 value: 'eve'" in folder.apply("--dry-run", role=Role.AUTHOR).output


def test_what_is_exported_is_found_unchanged(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = ["a,b", 'say "x"', " spaced ", "two\nlines", "ü", "carriage\rreturn"]
    lists = folder.client.lists("logins")
    lists.create("odd", description="of all kinds")
    lists.put("odd", odd)
    lists.put("odd", ["later"], effective_from="2099-01-01T00:00:00Z")
    for name, kind, given in (("ids", "BIGINT", [1, -(2**63)]), ("empty", "DATE", [])):
        lists.create(name, kind)  # type: ignore[arg-type]
        lists.put(name, given)
    naming_odd = {"steps": [{"name": "a", "where": "user IN LIST('odd')"}]}
    folder.client.publish("logins", "a", pattern=naming_odd)
    # What is to be known of a list stands in the listing: none is asked for by itself.
    monkeypatch.delattr(ListClient, "read")
    folder.run("export", folder.path, code=0)
    exported = folder.path / "lists" / "logins"
    assert sorted(each.name for each in exported.iterdir()) == [
        f"{name}.{suffix}" for name in ("empty", "ids", "odd") for suffix in ("csv", "yaml")
    ]
    assert b"\r\n" not in (exported / "odd.csv").read_bytes()
    assert yaml.safe_load((exported / "odd.yaml").read_text())["description"] == "of all kinds"
    assert folder.plan("--prune") == ["Plan: 5 unchanged"]
    lists.delete("empty")
    told = folder.run("export", folder.path).output
    assert "lists/logins/empty.csv" in told.replace("\n", "")


def test_lines_do_not_depend_on_the_pieces_they_come_in() -> None:
    text = b'a\r\n"b\nc"\r\nd'
    for cut in range(len(text)):
        assert "".join(lines_of([text[:cut], text[cut:]])) == text.decode()
        assert list(lines_of([text[:cut], text[cut:]])) == ["a\r\n", '"b\n', 'c"\r\n', "d"]


def test_commands_find_lists_beside_rules_and_miss_those_without_values(folder: Folder) -> None:
    folder.write("stream.yaml", STREAM)
    rule(folder, examples=[EXAMPLE])
    vip(folder, "eve")
    file, events, bob = (folder.path / name for name in ("a.yaml", "events.jsonl", "bob.csv"))
    events.write_text(json.dumps({"ts": 1, "user": "eve"}))
    for words in (
        ("test", file),
        ("test", folder.path),
        ("match", file, events),
        ("why", file, events),
        ("backtest", file, "-e", events),
    ):
        assert "FAILED" not in ended(0, *words).output
    assert "1 found" in ended(0, "match", file, events).stdout
    bob.write_text("bob\n")
    ended(1, "test", file, "--list", f"vip={bob}")
    # A list without values has a type, and is missing to examples.
    folder.write("lists/vip.yaml", {"list": "vip", "stream": "logins"})
    rule(folder)
    ended(0, "test", folder.path)
    rule(folder, examples=[EXAMPLE])
    assert "--list vip=vip.csv" in ended(1, "test", folder.path).stdout
