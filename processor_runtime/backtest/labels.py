"""How good matches are, by labels: which keys, matches or events are known to be bad.

labels ──Scores──► true and false positives, precision, recall

A label is of a match (by its id), of a key, or of events (a column of theirs that is true). A
labelled match is what its own label says, else what its key's says.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from processor_runtime.backtest.findings import FoundMatch

_TRUE: Final = frozenset(
    {"true", "1", "yes", "y", "t", "positive", "true_positive", "resolved", "acknowledged"}
)
_FALSE: Final = frozenset({"false", "0", "no", "n", "f", "negative", "false_positive"})


class UnreadableLabels(Exception):
    """The file of labels is not as it should be; says in which line."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What is known: by id of a match, and by key as people write it."""

    by_match: dict[str, bool] = field(default_factory=dict)
    by_key: dict[str, bool] = field(default_factory=dict)


def read_labels(path: Path) -> Labels:
    """Return the labels in a CSV file with the columns `match_id` or `key`, and `label`.

    Raises:
        UnreadableLabels: it is none, or a label is neither true nor false.
    """
    labels = Labels()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            names = set(reader.fieldnames or ())
            if "label" not in names or not names & {"match_id", "key"}:
                raise UnreadableLabels(
                    f"{path}: line 1: the columns are {', '.join(sorted(names)) or 'none'}; "
                    "it takes match_id or key, and label"
                )
            for row in reader:
                _read(row, labels, f"{path}: line {reader.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableLabels(f"{path}: cannot be read: {error}") from error
    return labels


def _read(row: dict[str, str | None], labels: Labels, place: str) -> None:
    written = (row.get("label") or "").strip().lower()
    if not written:
        return
    if written not in _TRUE | _FALSE:
        raise UnreadableLabels(f"{place}: the label '{written[:40]}' is neither true nor false")
    is_true = written in _TRUE
    if name := row.get("match_id"):
        labels.by_match[name] = is_true
    elif (name := row.get("key")) is not None:
        labels.by_key[name] = is_true


@dataclass(frozen=True, slots=True)
class Scores:
    """How many matches are right and wrong, as far as it is known; rates are `None` without any.

    `recall` is the share of the keys known to be bad on which something was found.
    """

    true_positives: int
    false_positives: int
    unlabelled: int
    bad_keys: int
    bad_keys_found: int

    @property
    def precision(self) -> float | None:
        """The share of the labelled matches that are right."""
        labelled = self.true_positives + self.false_positives
        return self.true_positives / labelled if labelled else None

    @property
    def recall(self) -> float | None:
        """The share of the bad keys on which there is a right match."""
        return self.bad_keys_found / self.bad_keys if self.bad_keys else None


@dataclass(slots=True)
class Scoring:
    """Scores the matches of rules as they are found.

    Args:
        labels: what is known.
        column: the column of events that is true for bad ones, if labels are there.
        bad_keys: the keys with such an event, by rule, where there is a column.
    """

    labels: Labels
    column: str | None = None
    bad_keys: dict[str, frozenset[str]] = field(default_factory=dict)
    _right: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _wrong: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _unknown: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _found: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, rule: str, match: FoundMatch) -> None:
        """Count a match."""
        is_right = self._label(match)
        if is_right is None:
            self._unknown[rule] += 1
        elif is_right:
            self._right[rule] += 1
            self._found[rule].add(match.key_text)
        else:
            self._wrong[rule] += 1

    def scores(self, rule: str) -> Scores:
        """Return the scores of a rule."""
        bad = self.bad_keys.get(rule) or frozenset(
            key for key, is_true in self.labels.by_key.items() if is_true
        )
        return Scores(
            self._right[rule],
            self._wrong[rule],
            self._unknown[rule],
            len(bad),
            len(bad & self._found[rule]),
        )

    def _label(self, match: FoundMatch) -> bool | None:
        if self.column is not None:
            return any(_is_true(event.get(self.column)) for event in _events(match))
        by_match = self.labels.by_match.get(match.match_id)
        return self.labels.by_key.get(match.key_text) if by_match is None else by_match


def _events(match: FoundMatch) -> Iterable[dict[str, object]]:
    return (event for step in match.events.values() for event in step)


def _is_true(value: object) -> bool:
    return f"{value}".lower() in _TRUE
