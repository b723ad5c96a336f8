"""docs/decisions/README.md: every record is in the list of its state."""

from docs.decisions_index import FOLDER, PAGE, page


def test_the_index_has_each_record_in_its_state() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/decisions_index.py"


def test_each_record_has_a_number_of_its_own() -> None:
    numbers = [path.name[:4] for path in FOLDER.glob("*.md") if path != PAGE]
    assert len(numbers) > 70
    assert all(number.isdigit() for number in numbers)
    assert len(set(numbers)) == len(numbers)
