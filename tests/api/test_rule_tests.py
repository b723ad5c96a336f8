"""`percept test`: rules in files are tested alone, each on its own, and nothing of them is run."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from api.offline.junit import write_junit
from api.offline.outcomes import ExampleOutcome, Outcome
from cep.definition.given_lists import read_list_file
from cep.definition.rule_files import FileProblem
from cep.list_content import ListType
from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKey, SigningKeys
from percept.command_line import app
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


def run(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(app, ["test", *map(str, arguments)], env=environment)


def write(file: Path, *documents: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = json.loads(json.dumps(documents))  # nothing shared, which YAML would write as aliases
    file.write_text(yaml.safe_dump_all(plain, sort_keys=False), encoding="utf-8")
    return file


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
        text = json.dumps([STREAM, document])
        result = CliRunner().invoke(app, ["test", "-"], input=text)
        assert result.exit_code == code, result.output
        assert "standard input\n" in result.stdout
    unread = CliRunner().invoke(app, ["test", "-"], input="id: [")
    assert (unread.exit_code, "standard input:1:" in unread.output) == (1, True)


def state_of(result: Result, name: str) -> str:
    (found,) = re.findall(rf"^ +(passed|FAILED)  {name}\b", result.stdout, re.MULTILINE)
    return str(found)


# --- examples


def test_a_rule_whose_example_holds_passes(rules: Path) -> None:
    result = run(rules, "-v")
    assert result.exit_code == 0, result.output
    assert state_of(result, "good: 1 example") == state_of(result, "three, then in") == "passed"
    assert result.stdout.splitlines()[-1].startswith("2 passed; 1 example run; ")


def test_a_failed_example_is_told_with_expected_found_and_place(rules: Path) -> None:
    file = write(
        rules / "bad.yaml", processor_document(id="bad", examples=[EXAMPLE, WRONG_EXAMPLE])
    )
    result = run(rules)
    assert result.exit_code == 1
    assert [state_of(result, name) for name in ("bad", "good")] == ["FAILED", "passed"]
    assert state_of(result, "two are enough") == "FAILED"
    lines = file.read_text(encoding="utf-8").splitlines()
    place = lines.index("  matches:", lines.index("- name: two are enough")) + 1
    assert f"{file}:{place}:3: examples[1].matches: " in result.stdout
    assert 'Expected and not found: {"fail":[1,2]}. Found: {"fail":[0,1,2],"login":[3]}.' in (
        result.stdout
    )
    assert result.stdout.splitlines()[-1].startswith("2 passed, 1 failed; 3 examples run; ")


@pytest.mark.long
def test_an_example_that_takes_too_long_is_ended_and_the_next_rule_tested(rules: Path) -> None:
    slow = {"events": SLOW_EVENTS[:500], "matches": []}
    write(rules / "a.yaml", processor_document(id="slow", pattern=SLOW, examples=[slow]))
    result = run(rules, "--seconds", 0.1)
    assert result.exit_code == 1
    assert "It takes longer than the limit of 0.1 seconds." in result.stdout
    assert state_of(result, "good") == "passed"


def test_an_example_that_json_cannot_hold_is_told(rules: Path) -> None:
    text = RULE_TEXT + "examples:\n- events: [{ts: 1, user: !!binary aGk=}]\n"
    (rules / "a.yaml").write_text(text, encoding="utf-8")
    result = run(rules)
    assert result.exit_code == 1
    assert "examples: they hold what JSON cannot" in result.stdout
    assert state_of(result, "good") == "passed"


# --- files


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
    result = run(rules)
    assert result.exit_code == 1
    assert state_of(result, "good") == "passed"
    assert result.stdout.splitlines()[-1].startswith(f"2 passed, {len(UNREADABLE)} failed; ")
    for name in UNREADABLE:
        assert f"{rules / name}:" in result.stdout


def test_documents_that_exclude_each_other_fail(rules: Path) -> None:
    write(rules / "later.yaml", processor_document(id="good"))
    result = run(rules, rules / "good.yaml")
    assert result.exit_code == 1
    assert "'good' is also in" in result.stdout


def test_a_file_that_is_named_twice_is_tested_once(rules: Path) -> None:
    result = run(rules, rules / "good.yaml", rules)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("2 passed; 1 example run")


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_what_cannot_be_tested_at_all_has_a_code_of_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    result = run(tmp_path / name)
    assert result.exit_code == 2
    assert "there is no" in result.stderr


def test_text_that_steers_a_terminal_is_written_out(rules: Path) -> None:
    text = RULE_TEXT + '"\\e[2J[red]x": 1\nseverity: "\\u202egpj"\n'
    (rules / "hostile.yaml").write_text(text, encoding="utf-8")
    result = run(rules)
    assert result.exit_code == 1
    assert "\\x1b[2J[red]x: unknown key" in result.stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", result.output)


# --- streams


def test_the_stream_is_found_beside_a_file_that_is_named_alone(rules: Path) -> None:
    result = run(rules / "good.yaml")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("1 passed; 1 example run")


def test_a_stream_that_is_not_at_hand_is_named(rules: Path) -> None:
    (rules / "stream.yaml").rename(rules.parent / "elsewhere.yaml")
    result = run(rules)
    assert result.exit_code == 1
    told = "no definition of stream 'logins' here: columns were not checked and examples not run"
    assert told in result.stdout
    assert "--streams" in result.stdout
    assert run(rules, "--streams", rules.parent / "elsewhere.yaml").exit_code == 0


def test_rules_of_a_faulty_stream_do_not_pass_in_silence(rules: Path) -> None:
    faulty = write(rules / "stream.yaml", STREAM | {"event_time_column": "at"})
    for arguments in ([rules], [rules / "good.yaml"]):
        result = run(*arguments)
        assert result.exit_code == 1
        assert state_of(result, "stream logins") == "FAILED"
        assert f"not tested: columns: the definition in {faulty} is faulty" in result.stdout
        assert "not tested: examples" not in result.stdout or "good" in result.stdout


def test_conditions_are_checked_against_the_columns(rules: Path) -> None:
    wrong = {"steps": [{"name": "a", "where": "amuont > 1"}]}
    write(rules / "wrong.yaml", processor_document(id="wrong", pattern=wrong, examples=[EXAMPLE]))
    result = run(rules)
    assert result.exit_code == 1
    assert "there is no column amuont. Did you mean amount?" in result.stdout
    assert "not tested: examples: they run once the rest is right" in result.stdout


# --- what is told


def test_a_warning_fails_only_if_asked(rules: Path) -> None:
    endless = {key: value for key, value in PATTERN.items() if key != "within"}
    write(rules / "endless.yaml", processor_document(id="endless", pattern=endless))
    result = run(rules)
    assert (result.exit_code, state_of(result, "endless")) == (0, "passed")
    assert "warning: " in result.stdout
    strict = run(rules, "--fail-on-warning", "-q")
    assert (strict.exit_code, state_of(strict, "endless")) == (1, "FAILED")
    assert "good" not in strict.stdout


@pytest.mark.parametrize(
    ("word", "found"),
    [("GOOD", 1), ("g??d", 1), ("other", 1), ("stream.y", 1), ("logins", 3), ("selected_by", 0)],
)
def test_rules_are_selected_by_id_stream_and_file(rules: Path, word: str, found: int) -> None:
    write(rules / "other.yaml", processor_document(id="another"))
    result = run(rules, "-k", word)
    assert result.exit_code == (0 if found else 2)
    assert f"\n{found} passed" in result.stdout or not found


def test_selecting_nothing_is_told(rules: Path) -> None:
    result = run(rules, "-k", "nobody", "--select", "nothing")
    assert result.exit_code == 2
    assert "--select leaves none of 2 documents" in result.stderr


# --- Python code


def signed(rules: Path, canary: Canary, key: SigningKey = KEY) -> None:
    place = CodePlace(stream="logins", processor="coded")
    code = sign(canary, key, CodeUse.FUNCTION, place=place).to_document()
    write(rules / "coded.yaml", processor_document(id="coded", function=code, examples=[EXAMPLE]))


def test_code_is_never_unpickled(rules: Path, tmp_path: Path) -> None:
    canary = Canary(tmp_path / "unpickled")
    signed(rules, canary)
    without = run(rules)
    assert without.exit_code == 0
    assert "not tested: Python code: without PERCEPT_SIGNING_KEYS, it was not run" in without.stdout
    assert "1 not tested in full" in without.stdout
    with_key = run(rules, PERCEPT_SIGNING_KEYS=SigningKeys((KEY,)).keys[0].to_text())
    assert with_key.exit_code == 0
    assert "Python code: its signature was checked, it was not run" in with_key.stdout
    assert state_of(with_key, "coded: 1 example") == "passed"
    assert not canary.file.exists()


def test_code_that_a_stranger_has_signed_fails(rules: Path, tmp_path: Path) -> None:
    canary = Canary(tmp_path / "unpickled")
    signed(rules, canary, SigningKey("new", b"s" * 32))
    result = run(rules, PERCEPT_SIGNING_KEYS=KEY.to_text())
    assert (result.exit_code, state_of(result, "coded")) == (1, "FAILED")
    assert "does not have the signature of key" in result.stdout
    assert not canary.file.exists()


def test_a_key_that_is_none_is_told_without_it(rules: Path) -> None:
    result = run(rules, PERCEPT_SIGNING_KEYS="mine:hunter2")
    assert result.exit_code == 2
    assert "PERCEPT_SIGNING_KEYS" in result.stderr
    assert "hunter2" not in result.output


# --- JUnit


def test_junit_has_a_case_for_each_rule_and_each_example(rules: Path, tmp_path: Path) -> None:
    write(rules / "bad.yaml", processor_document(id="bad", examples=[EXAMPLE, WRONG_EXAMPLE]))
    file = tmp_path / "made" / "junit.xml"
    assert run(rules, "--junit", file).exit_code == 1
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


def test_a_junit_file_that_cannot_be_written_is_told(rules: Path) -> None:
    result = run(rules, "--junit", rules / "good.yaml" / "junit.xml")
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["\x00", "]]>", "<!--", "&lt;", "\ud800", "\ufffe", "\r\n", '"', "\x1b[0m", "\x85", "𝄞"]
)


@given(texts=st.lists(ANY_TEXT, min_size=4, max_size=4))
def test_junit_is_well_formed_whatever_a_rule_says(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    message, name, example, note = texts
    problem = FileProblem(Path("a.yaml"), message, path=name, line=1, column=1, snippet=note)
    outcome = Outcome(
        Path("a.yaml"),
        name,
        (problem,),
        (problem,),
        (ExampleOutcome(example, (problem,)),),
        (note,),
    )
    file = tmp_path_factory.getbasetemp() / "hostile.xml"
    write_junit(file, [outcome], by_warnings=True)
    cases = list(ET.parse(file).getroot().iter("testcase"))  # noqa: S314 - our own
    assert len(cases) == 3
    failure = cases[0].find("failure")
    assert failure is not None
    if all(map(str.isprintable, texts)):
        assert failure.get("message") == message
        assert cases[1].get("name") == f"{name}: {example}"


# --- beside it


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


@pytest.mark.parametrize(
    ("folder", "least"), [("tests/data", 30), ("examples/demo/compose/rules", 4)]
)
def test_all_rules_of_the_repository_pass(folder: str, least: int) -> None:
    result = run(ROOT / folder)
    assert result.exit_code == 0, result.output
    assert int(result.stdout.splitlines()[-1].partition(" ")[0]) >= least


# --- lists

LISTED = PATTERN | {"steps": [{"name": "any", "where": "user IN LIST('vip')"}]}
SEEN = {"name": "a customer", "events": EVENTS[:1], "matches": [{"any": [0]}]}


def test_examples_look_into_lists_of_files(rules: Path, tmp_path: Path) -> None:
    write(rules / "good.yaml", processor_document(id="vips", pattern=LISTED, examples=[SEEN]))
    vip = tmp_path / "vip.csv"
    for text, state in (("eve\n", "passed"), ("bob\n", "FAILED")):
        vip.write_text(text)
        assert state_of(run(rules, "--list", f"vip={vip}"), "vips") == state


def test_a_list_that_is_not_known_fails_the_rule_and_says_how_to_give_it(
    rules: Path, tmp_path: Path
) -> None:
    write(rules / "good.yaml", processor_document(id="vips", pattern=LISTED))
    result = run(rules)
    assert state_of(result, "vips") == "FAILED"
    assert "--list vip=vip.csv" in result.stdout
    (tmp_path / "ids.csv").write_text("1")
    result = run(rules, "--list", f"vip:BIGINT={tmp_path / 'ids.csv'}")
    assert "the list 'vip' is of BIGINT, this is a STRING" in result.stdout
    result = run(rules, "--list", f"vips={tmp_path / 'ids.csv'}")
    assert "there is no list 'vip'. Did you mean vips?" in result.stdout
    assert run(rules, "--list", "vip").exit_code == 2


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
