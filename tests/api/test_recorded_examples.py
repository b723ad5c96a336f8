"""Examples in the description of the service are what it answers; `COMMAND` records them anew."""

import json
import os

from api.web.openapi import EXAMPLES, recorded_examples
from tests.api.example_story import Examples, fixed_secrets, tell
from tests.api.running import running_service

COMMAND = "PERCEPT_RECORD=1 .venv/bin/pytest -n 0 tests/api/test_recorded_examples.py"


def record(examples: Examples) -> None:
    """Write a line for each operation."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(examples[name], ensure_ascii=False)}"
        for name in sorted(examples)
    )
    EXAMPLES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def test_examples_are_what_the_service_answers(sqlite_store: str) -> None:
    with fixed_secrets(), running_service(sqlite_store) as service:
        examples = tell(service)
    if os.environ.get("PERCEPT_RECORD"):
        record(examples)
    known = recorded_examples()
    names = sorted(examples.keys() | known.keys())
    differing = [name for name in names if examples.get(name) != known.get(name)]
    assert not differing, f"record anew by {COMMAND}: {differing}"
