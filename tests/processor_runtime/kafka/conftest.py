"""A cluster of brokers for all tests of a module: each uses topics of its own."""

from collections.abc import Iterator

import pytest

from tests.processor_runtime.kafka.brokers import Brokers, brokers
from tests.processor_runtime.kafka.registry import Registry, registry


@pytest.fixture(scope="module")
def kafka() -> Iterator[Brokers]:
    with brokers() as cluster:
        yield cluster


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as running:
        yield running
