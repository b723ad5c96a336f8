"""Differences of a list are divided into what one proposal has, and nothing of them is lost."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from api.gitops.list_parts import MOST_BYTES, parts
from api.settings import Settings
from contract.service.proposals import MOST_SHOWN_CHARACTERS


def test_a_part_is_what_a_service_takes_and_long_values_are_divided_by_size() -> None:
    assert MOST_BYTES <= MOST_SHOWN_CHARACTERS
    # What is beside the values has room, too.
    assert Settings.model_fields["max_body_bytes"].default > 2 * MOST_BYTES + 100_000
    wide = [f"{number:04}" + "☃" * 990 for number in range(3_000)]
    found = parts(wide, wide[:1_000])
    assert [value for part in found for value in part.add] == wide
    assert [value for part in found for value in part.remove] == wide[:1_000]
    assert all(
        len(to_json(each)) <= MOST_BYTES + 2 for part in found for each in (part.add, part.remove)
    )
    assert len(found) == 13


@given(st.sets(st.text(max_size=3)), st.sets(st.text(max_size=3)))
def test_few_are_one_part_and_none_are_no_part(add: set[str], remove: set[str]) -> None:
    found = [(part.add, part.remove) for part in parts(add, remove)]
    assert found == ([(sorted(add), sorted(remove))] if add or remove else [])
