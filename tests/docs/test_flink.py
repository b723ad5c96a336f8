"""docs/flink.md: its sessions, documents, tables and links hold."""

import re

import pytest
import yaml

import percept
import percept.discoverers
from cep import Pattern, PatternError
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorFile
from cep.expression import Schema
from cep.pattern.document.text import read_yaml_documents
from processor_runtime.job_file.job import JobFile
from tests.docs.fences import ROOT, fences, rows
from tests.docs.sessions import run_sessions

PAGE = "docs/flink.md"
OUTPUTS, RULE = (each.text for each in fences(PAGE) if each.language == "yaml")


def test_the_sessions_run_as_shown() -> None:
    tried, report = run_sessions(PAGE)
    assert report == ""
    assert tried > 10


def test_the_rule_is_the_pattern_of_the_session() -> None:
    (source,) = read_yaml_documents(RULE)
    columns = Schema.from_ddl("user STRING, action STRING, ts TIMESTAMP")
    checked = check_definition(source.data, columns, ProcessorFile)
    assert (checked.problems, checked.content is None) == ((), False)
    names: dict[str, Pattern] = {}
    (shown,) = (
        each.text for each in fences(PAGE) if "Pattern.begin" in each.text and ">>>" in each.text
    )
    lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", shown, re.MULTILINE)
    end = lines.index(")") + 1
    exec("\n".join(lines[:end]), names)  # noqa: S102 - of our own page
    assert Pattern.from_document(source.data["pattern"]) == names["pattern"]


def test_the_outputs_are_those_of_a_job_file() -> None:
    outputs = yaml.safe_load(OUTPUTS)
    job = JobFile.model_validate(
        {"name": "a", "stream": "logins", "source": {"format": "json", "path": "in"}}
        | {"discoverer": {"type": "directory", "path": "rules"}, "checkpoint": "c"}
        | outputs
    )
    assert [output.name for output in job.outputs] == ["alerts", "gave-up", "rejected"]


def test_what_the_tables_name_is_there() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    functions = {"select", "flat_select", "PatternProcessFunction", "TimedOutPartialMatchHandler"}
    matching = {"PatternProcessor", "match_patterns", "find_matches", "iter_matches"}
    assert {name for name in functions | matching if f"`{name}" not in text} == set()
    assert functions | matching <= set(percept.__all__)
    flip_200 = {"PatternProcessorDiscoverer", "PatternProcessorDiscovererFactory"}
    assert flip_200 <= set(percept.discoverers.__all__)


def test_each_quirk_of_flink_is_refused_unless_it_is_asked_for() -> None:
    quirks = rows(PAGE, "Pattern", "What Flink does", "Instead")
    assert len(quirks) > 10
    for row in quirks:
        pattern = Pattern.parse(row["Pattern"].strip("`"))

        with pytest.raises(PatternError, match="With flink_quirks it is accepted"):
            pattern.validate()
        assert pattern.flink_quirks().validate()
