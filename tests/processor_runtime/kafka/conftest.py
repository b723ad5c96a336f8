"""A cluster of brokers for all tests of a module: each uses topics of its own."""

from collections.abc import Iterator

import pytest

from tests.processor_runtime.kafka.brokers import Brokers, brokers


@pytest.fixture(scope="module")
def kafka() -> Iterator[Brokers]:
    with brokers() as cluster:
        yield cluster
