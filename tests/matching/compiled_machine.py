"""The compiled machine, made before tests ask for it, for however few events."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cep.executors import column_matcher


@contextmanager
def machines_of(kind: str) -> Iterator[None]:
    """Let frames go through machines of one kind: `compiled` or `interpreted`."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "compiled":
            pytest.importorskip("numba")
            from cep.nfa_kernel.__main__ import compile_all  # noqa: PLC0415 - needs numba

            compile_all()
            always = "cep.executors.compiled.object_keys.is_worth_it"
            patch.setattr(always, lambda _events, _keys: True)
        fewest = {"compiled": 0, "interpreted": 2**62}[kind]
        patch.setattr(column_matcher, "FEWEST_EVENTS", fewest)
        yield
