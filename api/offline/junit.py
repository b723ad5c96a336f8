"""Outcomes → a file in JUnit's XML, which CI systems show.

A file is a test suite; a rule is a test case, each of its examples another one. What could not be
tested is a case that was skipped.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from api.offline.outcomes import Outcome
from cep.definition.rule_files import FileProblem
from cep.printable import printable


def write_junit(path: Path, outcomes: Sequence[Outcome], *, by_warnings: bool) -> None:
    """Write outcomes to a file.

    Args:
        path: the file; folders above it are created.
        outcomes: of all documents, those of a file behind each other.
        by_warnings: a warning is a failure.

    Raises:
        OSError: it cannot be written.
    """
    suites = ET.Element("testsuites", name="percept test")
    for file, group in groupby(outcomes, key=lambda outcome: outcome.file):
        suite = ET.SubElement(suites, "testsuite", name=printable(str(file)))
        for outcome in group:
            _add_cases(suite, outcome, by_warnings=by_warnings)
        _count(suite, suite.iter("testcase"))
    _count(suites, suites.iter("testcase"))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Names of files, and texts of rules, need not be UTF-8; what is left after `printable` is.
    ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _add_cases(suite: ET.Element, outcome: Outcome, *, by_warnings: bool) -> None:
    case = _add_case(suite, outcome, outcome.name, outcome.problems)
    case.set("time", f"{outcome.seconds:.3f}")
    if by_warnings and outcome.warnings and not outcome.problems:
        _add_failure(case, outcome.warnings, "warning")
    elif outcome.warnings:
        ET.SubElement(case, "system-out").text = _problem_text(outcome.warnings)
    for example in outcome.examples:
        _add_case(suite, outcome, f"{outcome.name}: {example.name}", example.problems)
    for what in outcome.not_tested:
        skipped = _add_case(suite, outcome, f"{outcome.name}: not tested", ())
        ET.SubElement(skipped, "skipped", message=printable(what))


def _add_case(
    suite: ET.Element, outcome: Outcome, name: str, problems: Sequence[FileProblem]
) -> ET.Element:
    file = printable(str(outcome.file))
    case = ET.SubElement(
        suite, "testcase", classname=file, name=printable(name), file=file, time="0.000"
    )
    if problems:
        if problems[0].line is not None:
            case.set("line", str(problems[0].line))
        _add_failure(case, problems, "problem")
    return case


def _add_failure(case: ET.Element, problems: Sequence[FileProblem], kind: str) -> None:
    message = printable(problems[0].message)
    ET.SubElement(case, "failure", type=kind, message=message).text = _problem_text(problems)


def _problem_text(problems: Iterable[FileProblem]) -> str:
    return "\n".join(printable(str(problem)) for problem in problems)


def _count(element: ET.Element, cases: Iterable[ET.Element]) -> None:
    counted = list(cases)
    element.set("tests", str(len(counted)))
    element.set("failures", str(sum(case.find("failure") is not None for case in counted)))
    element.set("errors", "0")
    element.set("skipped", str(sum(case.find("skipped") is not None for case in counted)))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in counted):.3f}")
