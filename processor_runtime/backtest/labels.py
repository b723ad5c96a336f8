"""How good matches are, by labels: which keys, matches or events are known to be bad.

labels ──Scores──► true and false positives, precision, recall

A label is of a match, of a key, or of events (a column of theirs that is true). A labelled match is
what its own label says, else what its key's says. Labels of matches come as the rule service gives
them: ids differ between versions of a rule, so that a match of another version is known by its
rule, key, start and end.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from cep.events.table import UnreadableEvents, event_rows
from cep.expression import Schema
from cep.expression.types import STRING
from cep.file_trouble import file_trouble
from cep.instants import instant_ms
from processor_runtime.backtest.findings import FoundMatch, text_of_key

MatchPlace: TypeAlias = tuple[str, str, int, int]
"""A rule, a key as people write it, and the start and end of a match in milliseconds."""

TRUE: Final = frozenset(
    {"true", "1", "yes", "y", "t", "positive", "true_positive", "resolved", "acknowledged"}
)
_FALSE: Final = frozenset({"false", "0", "no", "n", "f", "negative", "false_positive"})


_NAMES: Final = ("match_id", "rule", "key", "start", "end", "kind", "label")
_COLUMNS: Final = Schema(tuple((name, STRING) for name in _NAMES))


class UnreadableLabels(Exception):
    """The file of labels is not as it should be; says in which label."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time of the events that were read, from the first to the last one, in milliseconds."""

    first_ms: int
    last_ms: int

    def holds(self, start_ms: int, end_ms: int) -> bool:
        """Whether a match could be found in these events: it lies between them as a whole."""
        return self.first_ms <= start_ms and end_ms <= self.last_ms


@dataclass(frozen=True, slots=True)
class Labels:
    """What is known: by id of a match, by its place, and by key as people write it.

    `is_complete` is whether these are all, and not only the newest that a task holds.
    """

    by_match: dict[str, bool] = field(default_factory=dict)
    by_place: dict[MatchPlace, bool] = field(default_factory=dict)
    by_key: dict[str, bool] = field(default_factory=dict)
    is_complete: bool = True

    def add(self, match_id: str, place: MatchPlace | None, *, is_true: bool) -> None:
        """Take what is known of a match; several of one place are right if one of them is."""
        self.by_match[match_id] = is_true
        if place is not None:
            self.by_place[place] = self.by_place.get(place, False) or is_true

    def of(self, rule: str, match: FoundMatch) -> bool | None:
        """Return whether a match is right, `None` if that is not known."""
        label = self.by_match.get(match.match_id)
        if label is None:
            label = self.by_place.get((rule, match.key_text, match.start_ms, match.end_ms))
        return self.by_key.get(match.key_text) if label is None else label

    def bad_keys(self, rule: str, span: Span) -> frozenset[str]:
        """Return the keys that are known to be bad, of matches those that lie in a span of time."""
        named = {key for key, is_true in self.by_key.items() if is_true}
        return frozenset(
            named
            | {
                key
                for (of_rule, key, start_ms, end_ms), is_true in self.by_place.items()
                if is_true and of_rule == rule and span.holds(start_ms, end_ms)
            }
        )


def read_labels(path: Path) -> Labels:
    """Return the labels in a CSV file with the columns `match_id` or `key`, and `label`.

    With `rule`, `key` (JSON), `start` and `end`, as the rule service writes labels, a match is also
    known by these. Several matches of one place are right if one of them is.

    Raises:
        UnreadableLabels: it is none, or a label is neither true nor false.
    """
    labels = Labels()
    try:
        rows = list(event_rows(path.read_bytes(), "labels.csv", _COLUMNS).rows)
    except (OSError, UnreadableEvents) as error:
        raise UnreadableLabels(f"{path}: cannot be read: {file_trouble(error)}") from error
    names = set(rows[0]) if rows else set()
    if rows and ("label" not in names or not names & {"match_id", "key"}):
        raise UnreadableLabels(
            f"{path}: line 1: the columns are {', '.join(sorted(names))}; "
            "it takes match_id or key, and label"
        )
    for number, row in enumerate(rows, start=1):
        _read(row, labels, f"{path}: label {number}")
    return labels


def _read(row: dict[str, str | None], labels: Labels, place: str) -> None:
    written = (row.get("label") or "").strip().lower()
    if not written:
        return
    if written not in TRUE | _FALSE:
        raise UnreadableLabels(f"{place}: the label '{written[:40]}' is neither true nor false")
    is_true = written in TRUE
    if name := row.get("match_id"):
        labels.add(name, _match_place(row, place), is_true=is_true)
    elif (name := row.get("key")) is not None:
        labels.by_key[name] = is_true


def _match_place(row: dict[str, str | None], place: str) -> MatchPlace | None:
    rule, key, start, end = (row.get(name) for name in ("rule", "key", "start", "end"))
    # What was decided about a timeout says nothing of a match at the same place.
    if not (rule and key and start and end) or row.get("kind") == "timeout":
        return None
    try:
        return rule, text_of_key(key), instant_ms(start), instant_ms(end)
    except (ValueError, TypeError) as error:
        raise UnreadableLabels(
            f"{place}: key, start and end are not as the rule service writes them: {error}"
        ) from error


@dataclass(frozen=True, slots=True)
class Scores:
    """How many matches are right and wrong, as far as it is known; rates are `None` without any.

    `recall` is the share of the keys known to be bad on which something was found. A key that is
    known by a match counts if the match lies in the time of the events that were read.
    """

    true_positives: int
    false_positives: int
    unlabelled: int
    bad_keys: int
    bad_keys_found: int
    is_complete: bool

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

    `column`: the column of events that is true for bad ones, if labels are there. `bad_keys`: the
    keys with such an event, by rule, where there is a column.
    """

    labels: Labels
    span: Span
    column: str | None = None
    bad_keys: dict[str, frozenset[str]] = field(default_factory=dict)
    _right: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _wrong: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _unknown: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _found: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, rule: str, match: FoundMatch) -> None:
        """Count a match."""
        is_right = self._label(rule, match)
        if is_right is None:
            self._unknown[rule] += 1
        elif is_right:
            self._right[rule] += 1
            self._found[rule].add(match.key_text)
        else:
            self._wrong[rule] += 1

    def scores(self, rule: str) -> Scores:
        """Return the scores of a rule."""
        bad = self.bad_keys.get(rule) or self.labels.bad_keys(rule, self.span)
        return Scores(
            self._right[rule],
            self._wrong[rule],
            self._unknown[rule],
            len(bad),
            len(bad & self._found[rule]),
            self.labels.is_complete,
        )

    def _label(self, rule: str, match: FoundMatch) -> bool | None:
        if self.column is not None:
            return any(_is_true(event.get(self.column)) for event in _events(match))
        return self.labels.of(rule, match)


def _events(match: FoundMatch) -> Iterable[dict[str, object]]:
    return (event for step in match.events.values() for event in step)


def _is_true(value: object) -> bool:
    return f"{value}".lower() in TRUE
