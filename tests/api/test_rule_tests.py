"""`percept test`: rules in files are tested alone, each on its own, and nothing of them is run."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from api.offline.junit import write_junit
from api.offline.outcomes import ExampleOutcome, Outcome
from cep.definition.given_lists import read_list_file
from cep.definition.rule_files import FileProblem
from cep.list_content import ListType
from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKey
from tests.api.commands import STEERING, ended, write
from tests.api.documents import PATTERN, RULE_TEXT, STREAM, processor_document
from tests.api.test_signed_code import Canary
from tests.api.test_trial_limits import SLOW, SLOW_EVENTS
from tests.docs.fences import ROOT

KEY = SigningKey("new", b"n" * 32)
EVENTS = [
    {"user": "eve", "ts": at, "action": action}
    for at, action in enumerate(["fail", "fail", "fail", "login"])
]
EXAMPLE = {
    "name": "three, then in",
    "events": EVENTS,
    "matches": [{"fail": [0, 1, 2], "login": [3]}],
}
WRONG_EXAMPLE = {"name": "two are enough", "events": EVENTS, "matches": [{"fail": [1, 2]}]}


def run(*words: object, code: int = 0, given: str | None = None, **environment: str) -> Result:
    return ended(code, "test", *words, given=given, environment=environment)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A folder with the stream `logins` and a rule whose example holds."""
    folder = tmp_path / "rules"
    write(folder / "stream.yaml", STREAM)
    write(folder / "good.yaml", processor_document(id="good", examples=[EXAMPLE]))
    return folder


def test_documents_come_through_a_pipe_too() -> None:
    good = processor_document(id="good", examples=[EXAMPLE])
    for document, code in ((good, 0), (good | {"examples": [WRONG_EXAMPLE]}, 1)):
        told = run("-", given=json.dumps([STREAM, document]), code=code).stdout
        assert "standard input\n" in told
    assert "standard input:1:" in run("-", given="id: [", code=1).output


def state_of(result: Result, name: str) -> str:
    (found,) = re.findall(rf"^ +(passed|FAILED)  {name}\b", result.stdout, re.MULTILINE)
    return str(found)


def summary(result: Result) -> str:
    """Return the last line."""
    return result.stdout.splitlines()[-1]


def test_a_rule_whose_example_holds_passes_also_alone_as_its_stream_is_beside_it(
    rules: Path,
) -> None:
    result = run(rules, "-v")
    assert state_of(result, "good: 1 example") == state_of(result, "three, then in") == "passed"
    assert summary(result).startswith("2 passed; 1 example run; ")
    assert summary(run(rules / "good.yaml")).startswith("1 passed; 1 example run")


def test_a_failed_example_is_told_with_expected_found_and_place(rules: Path) -> None:
    bad = processor_document(id="bad", examples=[EXAMPLE, WRONG_EXAMPLE])
    file = write(rules / "bad.yaml", bad)
    result = run(rules, code=1)
    states = [state_of(result, name) for name in ("bad", "two are enough", "good")]
    assert states == ["FAILED", "FAILED", "passed"]
    lines = file.read_text(encoding="utf-8").splitlines()
    place = lines.index("  matches:", lines.index("- name: two are enough")) + 1
    assert f"{file}:{place}:3: examples[1].matches: " in result.stdout
    told = 'Expected and not found: {"fail":[1,2]}. Found: {"fail":[0,1,2],"login":[3]}.'
    assert told in result.stdout
    assert summary(result).startswith("2 passed, 1 failed; 3 examples run; ")


@pytest.mark.long
def test_an_example_that_takes_too_long_is_ended_and_the_next_rule_tested(rules: Path) -> None:
    slow = {"events": SLOW_EVENTS[:500], "matches": []}
    write(rules / "a.yaml", processor_document(id="slow", pattern=SLOW, examples=[slow]))
    result = run(rules, "--seconds", 0.1, code=1)
    assert "It takes longer than the limit of 0.1 seconds." in result.stdout
    assert state_of(result, "good") == "passed"


def test_what_json_cannot_hold_is_told_and_what_steers_a_terminal_written_out(rules: Path) -> None:
    text = RULE_TEXT + "examples:\n- events: [{ts: 1, user: !!binary aGk=}]\n"
    (rules / "a.yaml").write_text(text, encoding="utf-8")
    result = run(rules, code=1)
    assert "examples: they hold what JSON cannot" in result.stdout
    assert state_of(result, "good") == "passed"
    text = RULE_TEXT + '"\\e[2J[red]x": 1\nseverity: "\\u202egpj"\n'
    (rules / "hostile.yaml").write_text(text, encoding="utf-8")
    result = run(rules, code=1)
    assert "\\x1b[2J[red]x: unknown key" in result.stdout
    assert not re.search(STEERING, result.output)


UNREADABLE = {
    "broken.yaml": b"id: [",
    "broken.json": b'{"id": ',
    "digits.json": b'{"id": ' + b"9" * 5_000 + b"}",
    "deep.json": b"[" * 100_000,
    "bytes.yaml": b"\xff\xfe\x00",
    "scalar.yaml": b"just text",
    "twice.yaml": b"id: a\nid: b\n",
    "alias.yaml": b"a: &x [1]\nb: *x\n",
    "neither.yaml": b"steps: []\n",
    "nothing of a rule.yaml": b"id: 3\nstream: [1]\npattern: 7\n",
}


def test_no_file_keeps_the_others_from_being_tested(rules: Path) -> None:
    for name, content in UNREADABLE.items():
        (rules / name).write_bytes(content)
    result = run(rules, code=1)
    assert state_of(result, "good") == "passed"
    assert summary(result).startswith(f"2 passed, {len(UNREADABLE)} failed; ")
    for name in UNREADABLE:
        assert f"{rules / name}:" in result.stdout


def test_a_file_that_is_named_twice_is_tested_once_and_another_of_its_rule_fails(
    rules: Path,
) -> None:
    assert summary(run(rules, rules / "good.yaml", rules)).startswith("2 passed; 1 example run")
    write(rules / "later.yaml", processor_document(id="good"))
    assert "'good' is also in" in run(rules, rules / "good.yaml", code=1).stdout


def test_what_cannot_be_tested_at_all_has_a_code_of_its_own(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert "there is no" in run(folder, code=2).stderr


def test_all_rules_of_the_repository_pass() -> None:
    for folder, least in (("tests/data", 30), ("examples/demo/compose/rules", 4)):
        assert int(summary(run(ROOT / folder)).partition(" ")[0]) >= least


def test_a_stream_that_is_not_at_hand_is_named(rules: Path) -> None:
    elsewhere = (rules / "stream.yaml").rename(rules.parent / "elsewhere.yaml")
    told = run(rules, code=1).stdout
    assert "no definition of stream 'logins' here: columns were not checked and examples" in told
    assert "--streams" in told
    run(rules, "--streams", elsewhere)


def test_conditions_are_checked_against_columns_unless_their_stream_is_faulty(rules: Path) -> None:
    wrong = {"steps": [{"name": "a", "where": "amuont > 1"}]}
    write(rules / "wrong.yaml", processor_document(id="wrong", pattern=wrong, examples=[EXAMPLE]))
    told = run(rules, code=1).stdout
    assert "there is no column amuont. Did you mean amount?" in told
    assert "not tested: examples: they run once the rest is right" in told
    faulty = write(rules / "stream.yaml", STREAM | {"event_time_column": "at"})
    for place in (rules, rules / "good.yaml"):
        result = run(place, code=1)
        assert state_of(result, "stream logins") == "FAILED"
        assert f"not tested: columns: the definition in {faulty} is faulty" in result.stdout


def test_a_warning_fails_only_if_asked(rules: Path) -> None:
    endless = {key: value for key, value in PATTERN.items() if key != "within"}
    write(rules / "endless.yaml", processor_document(id="endless", pattern=endless))
    result = run(rules)
    assert (state_of(result, "endless"), "warning: " in result.stdout) == ("passed", True)
    strict = run(rules, "--fail-on-warning", "-q", code=1)
    assert (state_of(strict, "endless"), "good" in strict.stdout) == ("FAILED", False)


def test_rules_are_selected_by_id_stream_and_file(rules: Path) -> None:
    write(rules / "other.yaml", processor_document(id="another"))
    counts = {"GOOD": 1, "g??d": 1, "other": 1, "stream.y": 1, "logins": 3}
    for word, count in counts.items():
        assert f"\n{count} passed" in run(rules, "-k", word).output
    told = "--select leaves none of 3 documents"
    assert told in run(rules, "-k", "selected_by", code=2).output


def signed(rules: Path, tmp_path: Path, key: SigningKey = KEY) -> Path:
    """Write a rule with code whose loading would write a file, and return that."""
    canary = Canary(tmp_path / "unpickled")
    place = CodePlace(stream="logins", processor="coded")
    code = sign(canary, key, CodeUse.FUNCTION, place=place).to_document()
    write(rules / "coded.yaml", processor_document(id="coded", function=code, examples=[EXAMPLE]))
    return canary.file


def test_code_is_never_unpickled_and_fails_if_of_a_stranger(rules: Path, tmp_path: Path) -> None:
    file = signed(rules, tmp_path)
    without = run(rules).stdout
    assert "not tested: Python code: without PERCEPT_SIGNING_KEYS, it was not run" in without
    assert "1 not tested in full" in without
    with_key = run(rules, PERCEPT_SIGNING_KEYS=KEY.to_text())
    assert "Python code: its signature was checked, it was not run" in with_key.stdout
    assert state_of(with_key, "coded: 1 example") == "passed"
    assert not file.exists()
    file = signed(rules, tmp_path, SigningKey("new", b"s" * 32))
    result = run(rules, PERCEPT_SIGNING_KEYS=KEY.to_text(), code=1)
    assert state_of(result, "coded") == "FAILED"
    assert "does not have the signature of key" in result.stdout
    assert not file.exists()
    wrong = run(rules, PERCEPT_SIGNING_KEYS="mine:hunter2", code=2)
    assert "PERCEPT_SIGNING_KEYS" in wrong.stderr
    assert "hunter2" not in wrong.output


def test_junit_has_a_case_for_each_rule_and_each_example(rules: Path, tmp_path: Path) -> None:
    write(rules / "bad.yaml", processor_document(id="bad", examples=[EXAMPLE, WRONG_EXAMPLE]))
    file = tmp_path / "made" / "junit.xml"
    run(rules, "--junit", file, code=1)
    root = ET.parse(file).getroot()  # noqa: S314 - our own
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "1", "errors": "0", "skipped": "0"}
    cases = {str(case.get("name")): case for case in root.iter("testcase")}
    assert set(cases) == {
        *("bad", "bad: three, then in", "bad: two are enough"),
        *("good", "good: three, then in", "stream logins"),
    }
    failure = cases["bad: two are enough"].find("failure")
    assert failure is not None
    assert "Expected and not found" in str(failure.get("message"))
    assert str(rules / "bad.yaml") in str(failure.text)
    told = run(rules, "--junit", rules / "good.yaml" / "junit.xml", code=2).stderr
    assert "cannot write" in told


ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["\x00", "]]>", "<!--", "&lt;", "\ud800", "\ufffe", "\r\n", '"', "\x1b[0m", "\x85", "𝄞"]
)


@given(texts=st.lists(ANY_TEXT, min_size=4, max_size=4))
def test_junit_is_well_formed_whatever_a_rule_says(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    message, name, example, note = texts
    path, file = Path("a.yaml"), tmp_path_factory.getbasetemp() / "hostile.xml"
    problems = (FileProblem(path, message, path=name, line=1, column=1, snippet=note),)
    outcome = Outcome(path, name, problems, problems, (ExampleOutcome(example, problems),), (note,))
    write_junit(file, [outcome], by_warnings=True)
    cases = list(ET.parse(file).getroot().iter("testcase"))  # noqa: S314 - our own
    assert len(cases) == 3
    failure = cases[0].find("failure")
    assert failure is not None
    if all(map(str.isprintable, texts)):
        assert failure.get("message") == message
        assert cases[1].get("name") == f"{name}: {example}"


@pytest.mark.long
def test_nothing_of_a_service_is_imported(rules: Path) -> None:
    program = f"""
import sys
from typer.testing import CliRunner
from percept.command_line import app
answer = CliRunner().invoke(app, ["test", {str(rules)!r}])
assert answer.exit_code == 0, answer.output
print(*sorted({{"httpx2", "sqlalchemy", "fastapi", "starlette", "pyspark"}} & set(sys.modules)))
"""
    answer = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert answer.stdout.strip() == ""


LISTED = PATTERN | {"steps": [{"name": "any", "where": "user IN LIST('vip')"}]}
SEEN = {"name": "a customer", "events": EVENTS[:1], "matches": [{"any": [0]}]}


def test_examples_look_into_lists_of_files_and_one_that_is_not_known_fails_the_rule(
    rules: Path, tmp_path: Path
) -> None:
    write(rules / "good.yaml", processor_document(id="vips", pattern=LISTED, examples=[SEEN]))
    vip = tmp_path / "vip.csv"
    for text, state, code in (("eve\n", "passed", 0), ("bob\n", "FAILED", 1)):
        vip.write_text(text)
        assert state_of(run(rules, "--list", f"vip={vip}", code=code), "vips") == state
    write(rules / "good.yaml", processor_document(id="vips", pattern=LISTED))
    numbers = tmp_path / "ids.csv"
    numbers.write_text("1")
    for words, told in (
        ((), "--list vip=vip.csv"),
        (("--list", f"vip:BIGINT={numbers}"), "the list 'vip' is of BIGINT, this is a STRING"),
        (("--list", f"vips={numbers}"), "there is no list 'vip'. Did you mean vips?"),
    ):
        result = run(rules, *words, code=1)
        assert state_of(result, "vips") == "FAILED"
        assert told in result.stdout
    run(rules, "--list", "vip", code=2)


def test_a_file_of_values_is_read_no_more_often_for_more_rules(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = list[Path]()

    def counted(path: Path, data_type: ListType) -> bytes:
        files.append(path)
        return read_list_file(path, data_type)

    monkeypatch.setattr("cep.definition.list_documents.read_list_file", counted)
    write(rules / "vip.yaml", {"list": "vip", "stream": "logins", "file": "vip.csv"})
    (rules / "vip.csv").write_text("eve\n")
    reads = []
    for count in (1, 4):
        names = [f"vips{number}" for number in range(count)]
        documents = [processor_document(id=each, pattern=LISTED, examples=[SEEN]) for each in names]
        write(rules / "vips.yaml", *documents)
        files.clear()
        result = run(rules)
        assert {state_of(result, name) for name in names} == {"passed"}
        reads.append(len(files))
    assert reads[0] == reads[1] > 0
