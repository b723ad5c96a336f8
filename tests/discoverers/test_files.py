"""Files as a source: half-written, malformed, swapped, deleted."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from discoverers import BackgroundDiscovery, HealthStatus
from discoverers.files import FilesDiscoverer
from tests.discoverers.sources import (
    STREAM_KEYS,
    actions,
    document,
    newest_of,
    numbers,
    running,
)
from tests.patience import PATIENCE_SECONDS, eventually

STREAM_TEXT = yaml.safe_dump({"name": "logins"} | STREAM_KEYS)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "stream.yaml").write_text(STREAM_TEXT, encoding="utf-8")
    return folder


def write(path: Path, *documents: dict[str, Any]) -> None:
    """Write a file as an editor does: whole, under its name at once."""
    hidden = path.with_name(f".{path.name}.new")
    hidden.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    hidden.replace(path)


def watching(path: Path, kind: str = "directory", **options: Any) -> BackgroundDiscovery:
    quick = {"interval_seconds": 0.02, "settle_seconds": 0.02}
    return running({"type": kind, "path": str(path)} | quick | options)


@pytest.fixture
def job(rules: Path) -> Iterator[BackgroundDiscovery]:
    """A job that runs the processors a and b."""
    write(rules / "a.yaml", document("a"))
    write(rules / "b.yaml", document("b"))
    with watching(rules) as job:
        job.first(PATIENCE_SECONDS)
        yield job


def discoverer_of(rules: Path) -> FilesDiscoverer:
    discoverer = running({"type": "directory", "path": str(rules)})._discoverer
    assert isinstance(discoverer, FilesDiscoverer)
    return discoverer


def has(job: BackgroundDiscovery, wanted: dict[str, list[str]]) -> Callable[[], bool]:
    return lambda: actions(job.latest()) == wanted


def test_files_that_are_added_changed_and_deleted_are_followed(
    job: BackgroundDiscovery, rules: Path
) -> None:
    write(rules / "c.yaml", document("c"))
    eventually(has(job, {"a": ["fail"], "b": ["fail"], "c": ["fail"]}))
    write(rules / "a.yaml", document("a", "login"))
    eventually(has(job, {"a": ["login"], "b": ["fail"], "c": ["fail"]}))
    (rules / "b.yaml").unlink()
    eventually(has(job, {"a": ["login"], "c": ["fail"]}))

    newest = newest_of(job)
    assert (newest.epoch, numbers(newest)) == (4, {"a": [3], "c": [2]})


def test_a_malformed_file_keeps_its_processors_and_the_others_go_on(
    job: BackgroundDiscovery, rules: Path
) -> None:
    (rules / "a.yaml").write_text("id: a\npattern: {steps: [", encoding="utf-8")
    write(rules / "b.yaml", document("b", "login"))
    eventually(has(job, {"a": ["fail"], "b": ["login"]}))

    (problem,) = job.health.problems
    assert problem.origin == str(rules / "a.yaml")
    assert "line 2, column " in problem.message
    assert job.health.status is HealthStatus.OK


def test_a_processor_that_moves_to_another_file_while_its_own_is_malformed_is_followed(
    job: BackgroundDiscovery, rules: Path
) -> None:
    (rules / "a.yaml").write_text("{", encoding="utf-8")
    write(rules / "b.yaml", document("b"), document("a", "login"))
    eventually(has(job, {"a": ["login"], "b": ["fail"]}))


def test_one_malformed_document_of_a_file_is_placed_in_the_file(
    job: BackgroundDiscovery, rules: Path
) -> None:
    text = "# two rules\n" + yaml.safe_dump_all([document("a", "x"), document("b")])
    (rules / "a.yaml").write_text(text.replace("action = 'x'", "acton = 'x'"), encoding="utf-8")
    (rules / "b.yaml").unlink()
    eventually(lambda: job.health.problems)

    assert actions(job.latest()) == {"a": ["fail"], "b": ["fail"]}
    (problem,) = job.health.problems
    assert (problem.processor_id, problem.kept_versions) == ("a", (1,))
    assert "pattern.steps[0].where (line 6, column 12): there is no column acton" in problem.message


def test_a_file_is_not_taken_while_it_is_being_written(rules: Path) -> None:
    write(rules / "a.yaml", document("a"))
    whole = yaml.safe_dump(document("a", "login"))
    half = whole[: whole.index("stream")]  # valid YAML, and another rule
    settled = threading.Event()

    def wait(_event: threading.Event, _seconds: float) -> bool:
        (rules / "a.yaml").write_text(whole, encoding="utf-8")
        settled.set()
        return False

    discoverer = discoverer_of(rules)
    discoverer._clock = type(discoverer._clock)(wait=wait)
    (rules / "a.yaml").write_text(half, encoding="utf-8")
    found = discoverer.get_processors()

    assert settled.is_set()
    assert found is not None
    assert found.problems == ()
    assert found.versions[0].definition["pattern"] == document("a", "login")["pattern"]


def test_files_that_never_stand_still_are_a_failure(rules: Path) -> None:
    write(rules / "a.yaml", document("a"))
    counter = iter(range(1000))

    def wait(_event: threading.Event, _seconds: float) -> bool:
        write(rules / "a.yaml", document("a", str(next(counter))))
        return False

    discoverer = discoverer_of(rules)
    discoverer._clock = type(discoverer._clock)(wait=wait)
    with pytest.raises(Exception, match="keeps changing"):
        discoverer.get_processors()


def test_a_config_map_is_followed_when_its_link_is_swapped(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    config_map(mount, "2026_01", a="fail", b="fail")
    (mount / "..data").symlink_to("..2026_01")
    for name in ("a.yaml", "b.yaml", "stream.yaml"):
        (mount / name).symlink_to(f"..data/{name}")

    with watching(mount) as job:
        assert actions(job.first(PATIENCE_SECONDS)) == {"a": ["fail"], "b": ["fail"]}
        config_map(mount, "2026_02", a="login", b="login")
        (mount / "..data_tmp").symlink_to("..2026_02")
        (mount / "..data_tmp").replace(mount / "..data")
        for file in (mount / "..2026_01").iterdir():
            file.unlink()
        eventually(has(job, {"a": ["login"], "b": ["login"]}))
        assert newest_of(job).epoch == 2  # in one step


def config_map(mount: Path, version: str, **looks_for: str) -> None:
    folder = mount / f"..{version}"
    folder.mkdir(parents=True)
    (folder / "stream.yaml").write_text(STREAM_TEXT, encoding="utf-8")
    for name, action in looks_for.items():
        write(folder / f"{name}.yaml", document(name, action))


def test_a_directory_that_is_gone_or_empty_takes_nothing_away(
    job: BackgroundDiscovery, rules: Path
) -> None:
    rules.rename(rules.with_name("elsewhere"))
    absent = f"{rules}: No such file or directory. Correct the path, or create it"
    eventually(lambda: job.health.last_error == absent)
    rules.mkdir()
    eventually(lambda: "holds no .yaml" in (job.health.last_error or ""))
    assert actions(job.latest()) == {"a": ["fail"], "b": ["fail"]}


def put_none(path: Path) -> None:
    """Leave a path as it is: nothing is there."""


def put_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10_000_001)


@pytest.mark.parametrize(
    ("kind", "put", "told"),
    [
        ("file", put_none, "No such file or directory. Correct the path, or create it"),
        ("file", Path.mkdir, "Is a directory. Name a file in it"),
        ("file", put_large, "It is larger than 10,000,000 bytes. Divide it"),
        ("directory", Path.touch, "Not a directory. A part of the path is a file; correct it"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_remedy(
    tmp_path: Path, kind: str, put: Callable[[Path], object], told: str
) -> None:
    path = tmp_path / "rules.yaml"
    put(path)
    with watching(path, kind) as job:
        eventually(lambda: job.health.last_error is not None)
        assert job.health.last_error == f"{path}: {told}"


def test_one_file_of_a_directory_that_cannot_be_read_is_told_with_the_remedy(
    job: BackgroundDiscovery, rules: Path
) -> None:
    (rules / "a.yaml").unlink()
    (rules / "a.yaml").symlink_to(rules)
    (rules / "c.yaml").write_bytes(b"id: \xe9")
    eventually(lambda: len(job.health.problems) == 2)
    assert [each.message for each in job.health.problems] == [
        "cannot be read: Is a directory. Name a file in it",
        "byte 5 (0xe9) is no UTF-8. Save it as UTF-8",
    ]
    assert actions(job.latest()) == {"a": ["fail"], "b": ["fail"]}


def test_a_link_to_nothing_keeps_what_it_led_to(job: BackgroundDiscovery, rules: Path) -> None:
    (rules / "a.yaml").unlink()
    (rules / "a.yaml").symlink_to("nowhere.yaml")
    eventually(lambda: job.health.problems)
    assert actions(job.latest()) == {"a": ["fail"], "b": ["fail"]}


def test_a_malformed_stream_definition_keeps_the_last_one(
    job: BackgroundDiscovery, rules: Path
) -> None:
    (rules / "stream.yaml").write_text(STREAM_TEXT.replace("_time", "_tmie"), encoding="utf-8")
    write(rules / "a.yaml", document("a", "login"))
    eventually(has(job, {"a": ["login"], "b": ["fail"]}))
    assert "Did you mean 'event_time_column'?" in job.health.problems[0].message


def test_a_new_stream_definition_is_a_new_epoch(job: BackgroundDiscovery, rules: Path) -> None:
    (rules / "stream.yaml").write_text(STREAM_TEXT + "allowed_delay_ms: 5\n", encoding="utf-8")
    eventually(lambda: (newest := job.latest()) and newest.epoch == 2)
    newest = newest_of(job)
    assert (newest.stream.allowed_delay_ms, newest.stream.version) == (5, 2)


def test_other_streams_hidden_files_and_other_kinds_of_files_are_passed_over(rules: Path) -> None:
    write(rules / "a.yaml", document("a"), document("x") | {"stream": "payments", "colour": 1})
    write(rules / "payments.yaml", {"name": "payments", "schema": "?"})
    write(rules / ".hidden.yaml", document("h"))
    (rules / ".git").mkdir()
    write(rules / ".git" / "g.yaml", document("g"))
    (rules / "README.md").write_text("# Rules", encoding="utf-8")
    (rules / "below").mkdir()
    (rules / "below" / "b.json").write_text(json.dumps([document("b")]), encoding="utf-8")
    with watching(rules) as job:
        assert list(actions(job.first(PATIENCE_SECONDS))) == ["a", "b"]
        assert job.health.problems == ()


def test_labels_examples_pauses_and_schedules_are_read(rules: Path) -> None:
    later = document("a", "login", effective_from="2027-01-01T00:00:00Z", owner="fraud")
    paused = document("b", paused=True, examples=[{"events": []}], tags=["x"])
    write(rules / "all.yaml", document("a"), later, paused)
    with watching(rules) as job:
        snapshot = job.first(PATIENCE_SECONDS)
    first, second = snapshot.processors
    assert [version.effective_from_ms for version in first.versions] == [None, 1798761600000]
    assert second.paused
    assert second.versions[0].definition == {"pattern": document("b")["pattern"]}


def test_one_file_may_hold_everything(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    write(file, {"name": "logins"} | STREAM_KEYS, document("a"))
    with watching(file, "file") as job:
        assert actions(job.first(PATIENCE_SECONDS)) == {"a": ["fail"]}
        file.write_text("]", encoding="utf-8")
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert actions(job.latest()) == {"a": ["fail"]}


def test_an_empty_list_runs_no_processors(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("[]", encoding="utf-8")
    with watching(file, "file", stream=STREAM_KEYS) as job:
        assert job.first(PATIENCE_SECONDS).processors == []


def test_files_that_stay_as_they_are_are_not_read_into_documents_again(rules: Path) -> None:
    write(rules / "a.yaml", document("a"))
    discoverer = discoverer_of(rules)
    first = discoverer.get_processors()
    write(rules / "b.yaml", document("b"))
    second = discoverer.get_processors()
    assert first is not None
    assert second is not None
    assert second.versions[0] is first.versions[0]


@pytest.mark.parametrize(
    ("written", "said"),
    [([], ""), ([{"name": "logins", **STREAM_KEYS, "delay": 5}], "delay (line ")],
)
def test_a_stream_that_is_not_defined_well_is_a_failure_that_says_so(
    tmp_path: Path, written: list[dict[str, Any]], said: str
) -> None:
    file = tmp_path / "rules.yaml"
    write(file, *written, document("a"))
    with watching(file, "file") as job:
        eventually(lambda: job.health.consecutive_failures == 2)
        told = job.health.last_error or ""
    assert "does not define the stream logins" in told
    assert (said in told, "unknown key" in told) == (True, bool(said))


# --- lists

NAMING = {"steps": [{"name": "step", "where": "user IN LIST('vip') AND action = 'fail'"}]}


def put(folder: Path, *values: str, name: str = "vip") -> None:
    """Give a list other values, as an editor does."""
    hidden = folder / f".{name}.new"
    hidden.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
    hidden.replace(folder / f"{name}.csv")


@pytest.fixture
def listing(rules: Path) -> Iterator[BackgroundDiscovery]:
    """A job with a rule that names the list `vip`."""
    write(rules / "vip.yaml", {"list": "vip", "stream": "logins", "file": "vip.csv"})
    write(rules / "other.yaml", {"list": "vip", "stream": "payments", "file": "none.csv"})
    put(rules, "ana", "eve")
    write(rules / "a.yaml", document("a", pattern=NAMING))
    with watching(rules) as job:
        job.first(PATIENCE_SECONDS)
        yield job


def held(job: BackgroundDiscovery) -> dict[str, tuple[int, list[Any]]]:
    """Return the lists that the job is given: the number of the version, and the values."""
    return {
        each.name: (version.version, json.loads(job.list_content(version.digest)))
        for each in newest_of(job).lists
        for version in each.versions
    }


def test_lists_are_followed_and_their_content_is_there(
    listing: BackgroundDiscovery, rules: Path
) -> None:
    assert held(listing) == {"vip": (1, ["ana", "eve"])}
    put(rules, "bob")
    eventually(lambda: held(listing) == {"vip": (2, ["bob"])})
    put(rules, "bob", "", "bob")
    write(rules / "b.yaml", document("b"))
    eventually(has_rules(listing, "a", "b"))
    assert held(listing) == {"vip": (2, ["bob"])}
    write(rules / "ids.yaml", {"list": "ids", "stream": "logins", "type": "BIGINT", "values": [7]})
    eventually(lambda: held(listing) == {"ids": (4, [7]), "vip": (2, ["bob"])})
    assert listing.health.problems == ()


def has_rules(job: BackgroundDiscovery, *names: str) -> Callable[[], bool]:
    return lambda: [each.id for each in newest_of(job).processors] == list(names)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "vip.csv").unlink(), "vip.csv: cannot be read"),
        (lambda folder: put(folder, "a,b"), "vip.csv, line 1: 2 columns; a list has one"),
        (lambda folder: (folder / "vip.yaml").write_text("list: ["), "line 1, column 8"),
        (lambda folder: write(folder / "vip.yaml", {"list": "vip", "file": "../x"}), "without .."),
        (lambda folder: write(folder / "vip.yaml", {"list": "vip"}), "neither file nor values"),
    ],
)
def test_a_list_that_is_spoilt_stays_as_it_was_and_so_do_its_rules(
    listing: BackgroundDiscovery, rules: Path, spoil: Callable[[Path], object], told: str
) -> None:
    spoil(rules)
    write(rules / "b.yaml", document("b"))
    eventually(has_rules(listing, "a", "b"))
    eventually(lambda: told in str(listing.health.problems))
    assert held(listing) == {"vip": (1, ["ana", "eve"])}


def test_a_list_is_in_one_document_and_a_rule_needs_it(
    listing: BackgroundDiscovery, rules: Path
) -> None:
    write(rules / "twice.yaml", {"list": "vip", "values": ["mallory"]})
    eventually(lambda: "there are several" in str(listing.health.problems))
    assert held(listing) == {"vip": (1, ["ana", "eve"])}
    (rules / "twice.yaml").unlink()
    eventually(lambda: listing.health.problems == ())
    (rules / "vip.yaml").unlink()
    eventually(lambda: "there is no list 'vip'" in str(listing.health.problems))
    assert held(listing) == {}
