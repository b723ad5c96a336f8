"""The data of a test: what was found of each document."""

from dataclasses import dataclass
from pathlib import Path

from cep.definition.rule_files import FileProblem


@dataclass(frozen=True, slots=True)
class ExampleOutcome:
    """How one example of a rule went; it failed if there are problems."""

    name: str
    problems: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one document went, or a file that holds none.

    `problems` are what its checks have found, `not_tested` says what could not be tested here and
    why; `seconds` is how long its examples took.
    """

    file: Path
    name: str
    problems: tuple[FileProblem, ...] = ()
    warnings: tuple[FileProblem, ...] = ()
    examples: tuple[ExampleOutcome, ...] = ()
    not_tested: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def all_problems(self) -> tuple[FileProblem, ...]:
        """What its checks and its examples have found."""
        return (*self.problems, *(each for one in self.examples for each in one.problems))

    def is_failed(self, *, by_warnings: bool) -> bool:
        """Return whether something is wrong with it.

        Args:
            by_warnings: a warning is enough.
        """
        return bool(self.all_problems) or (by_warnings and bool(self.warnings))
