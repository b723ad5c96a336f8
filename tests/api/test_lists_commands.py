"""`Client.lists` and `percept lists`, against a service that listens."""

from pathlib import Path

import pytest

from api.client import Client, Conflict, Invalid, NotFound, Outdated
from contract.service.tokens import Role
from tests.api.commands import Run
from tests.api.documents import STREAM, processor_document

COMMAND = ("lists",)
PATTERN = {"steps": [{"name": "a", "where": "user IN LIST('vip')"}]}


def test_a_list_from_python(client: Client) -> None:
    lists = client.lists("logins")
    assert lists.create("vip", description="First.").version == 1
    assert lists.put("vip", ["eve", "ana"]).added == 2
    seen = lists.read("vip")
    changed = lists.change("vip", add=["bob"], remove=["eve"], if_match=seen.etag)
    assert (changed.first_added, changed.first_removed, changed.count) == (["bob"], ["eve"], 2)
    assert list(lists.values("vip")) == ["ana", "bob"]
    assert list(lists.values("vip", prefix="b")) == ["bob"]
    assert list(lists.values("vip", version=2)) == ["ana", "eve"]
    with lists.csv("vip") as pieces:
        assert b"".join(pieces) == b"ana\r\nbob\r\n"
    with pytest.raises(Outdated):
        lists.put("vip", [], if_match=seen.etag)
    with pytest.raises(Invalid) as wrong:
        lists.put("vip", b'ana\n""\n')
    assert "(line 2): An empty text" in str(wrong.value)
    assert lists.put("vip", b"name\nana\n", has_header=True, dry_run=True).new_count == 1
    scheduled = lists.put("vip", ["x"], effective_from="2099-01-01T00:00:00Z", comment="later")
    assert [each.version for each in scheduled.published] == [3, 4]
    assert [each.version for each in lists.cancel("vip", 4).published] == [3]
    assert lists.roll_back("vip", 2).first_added == ["eve"]
    assert lists.describe("vip", "Last.").description == "Last."
    assert [each.comment for each in lists.versions("vip")] == ["", "later", "", "", ""]
    client.create(processor_document(pattern=PATTERN))
    assert [each.rule_count for each in lists.all()] == [1]
    with pytest.raises(Conflict, match="failed-logins"):
        lists.delete("vip")
    with pytest.raises(NotFound):
        lists.read("none")


def test_many_values_come_page_after_page(client: Client) -> None:
    lists = client.lists("logins")
    lists.create("numbers", "BIGINT")
    lists.put("numbers", range(1_200))
    assert list(lists.values("numbers")) == [str(number) for number in range(1_200)]


def test_a_list_on_the_command_line(run: Run, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "vip.csv"
    file.write_text("user\nana\neve\n", encoding="utf-8")
    told = run("put", "vip", file, "--header", "--create", "string").stdout
    assert told == ("vip: created with type STRING\nvip: version 2: 2 added, 0 removed, 2 values\n")
    assert run("add", "vip", "bob", "ana").stdout.endswith("1 added, 0 removed, 3 values\n")
    tried = run("remove", "vip", "eve", "--dry-run").stdout
    assert tried == "vip: nothing is changed; it would be: 0 added, 1 removed, 2 values\n- eve\n"
    assert run("get", "vip").stdout.split() == ["ana", "bob", "eve"]
    assert run("remove", "vip", "nobody").stdout == (
        "vip: nothing to do, version 3 has these values\n"
    )
    assert run("put", "vip", "-", given="zoe\n", role=Role.PUBLISHER).exit_code == 0
    assert run("rollback", "vip", "--to", 3, "--comment", "back").exit_code == 0
    assert run("get", "vip", "--version", 4).stdout.split() == ["zoe"]
    assert "back" in run("log", "vip").stdout
    assert "STRING" in run("list").stdout
    assert "3 values of type STRING, version 5" in run("show", "vip").stdout
    assert '"restored_version": 3' in run("log", "vip", "--json").stdout.splitlines()[0]
    assert "3 values" in run("delete", "vip", "--dry-run").stdout
    assert run("delete", "vip").stdout == "vip: deleted, with 3 values\n"
    assert list(client.lists("logins").all()) == []
    assert "no lists" in run("list").stderr


def test_what_is_wrong_is_told(run: Run, client: Client, tmp_path: Path) -> None:
    client.lists("logins").create("vip", "BIGINT")
    assert "Did you mean 'vip'?" in run("show", "vop", code=1).stderr
    file = tmp_path / "numbers.csv"
    file.write_text("1\nx\n", encoding="utf-8")
    assert "line 2): 'x' is no BIGINT" in run("put", "vip", file, code=2).stderr
    run("put", "vip", tmp_path / "none.csv", code=2)
    run("put", "vip", file, "--create", "DOUBLE", code=2)
    run("add", "vip", "1", role=Role.AUTHOR, code=1)
    run("list", "--stream", "none", code=1)
    client.register_stream(STREAM | {"name": "other"})
    assert "logins, other" in run("list", code=2).stderr
    run("list", "--stream", "logins", code=0)
