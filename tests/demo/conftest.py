"""Registers the mark of tests that start Spark."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spark: needs Java, and seconds to start a local Spark")
