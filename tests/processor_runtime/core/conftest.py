"""Both machines that match events, for tests that hold for each of them."""

from collections.abc import Iterator

import pytest

from tests.matching.compiled_machine import machines_of


@pytest.fixture(params=["interpreted", "compiled"])
def machines(request: pytest.FixtureRequest) -> Iterator[None]:
    with machines_of(request.param):
        yield
