"""Stores for services under faults, and a line at the end: how many were tried, and wrong."""

import pytest

from tests.api.conftest import _quiet_logs, migrated_store, postgresql_schema, sqlite_template

__all__ = ["_quiet_logs", "migrated_store", "postgresql_schema", "sqlite_template"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call" and "tests/faults" in report.nodeid
    ]
    if reports:
        wrong = sum(report.failed for report in reports)
        terminalreporter.section("faults")
        for report in reports:
            for name, value in report.user_properties:
                terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {name} {value}")
        terminalreporter.write_line(f"{len(reports)} tried / {wrong} wrong")
