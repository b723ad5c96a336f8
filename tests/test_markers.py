"""What the Makefile says of where marked tests are."""

from pathlib import Path

TESTS = Path(__file__).parent


def files_with(text: str) -> set[str]:
    return {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("test_*.py")
        if path.name != "test_markers.py" and text in path.read_text(encoding="utf-8")
    }


def test_pages_and_faults_are_where_make_looks_for_them() -> None:
    pages = {path for path in files_with("browser: ") if not path.startswith("dashboard/")}
    faults = files_with("mark.faults")
    assert pages == set()
    assert faults
    assert {path.rpartition("/")[0] for path in faults} <= {
        "faults",
        "processor_runtime/resilience",
    }
