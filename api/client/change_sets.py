"""Change sets, from Python: the part of `Client` that changes several rules of a stream as one.

client.export_rules("logins") ──► documents ──► changes ──► client.change_rules("logins", changes)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Required, TypedDict
from urllib.parse import quote

from api.client.connection import Connection
from contract.service.change_sets import ChangeSetView

# The service takes up to a minute to check the documents of a set, and then makes it.
_ANSWER_SECONDS: Final = 120.0


class RuleChange(TypedDict, total=False):
    """One change of one rule.

    `action` is create, publish, replace or start_rollout with a `document`, or one of the rule
    `id`: pause, resume, delete, promote_rollout, end_rollout, set_parameters (`values`), label
    (`labels`), rollback and cancel (`version`), share_rollout (`share_percent`). `based_on` is the
    revision of the rule, or `*`; the first change of each rule that is there needs it.
    """

    action: Required[str]
    id: str
    document: Mapping[str, Any]
    based_on: int | Literal["*"]
    paused: bool
    shadow: bool
    version: int
    labels: Mapping[str, str | Sequence[str]]
    values: Mapping[str, bool | float | str | Sequence[bool | float | str]]
    share_percent: float


class ChangeSetCalls:
    """What a client does with change sets; see `Client`."""

    _connection: Connection

    def export_rules(self, stream: str) -> Iterator[dict[str, Any]]:
        """Yield the rules of a stream as documents, as files for `percept apply` have them.

        There is one for each published version, by rule and version; labels and `paused` are in the
        first of each rule.
        """
        path = f"/v1/streams/{quote(stream, safe='')}/export"
        return self._connection.items(path, {}, lambda document: document)

    def change_rules(
        self,
        stream: str,
        changes: Iterable[RuleChange],
        *,
        dry_run: bool = False,
        comment: str = "",
    ) -> ChangeSetView:
        """Make up to 500 changes of the rules of a stream together, as one epoch, or none of them.

        Args:
            stream: whose rules they are of.
            changes: in the order in which they are made.
            dry_run: make every check and only tell what would change.
            comment: why; kept in the log.

        Raises:
            Outdated: a rule has been changed since.
            ServiceError: one is refused; its `flaws` say which (`/changes/3/…`). Nothing is made.
        """
        return self._connection.read(
            ChangeSetView,
            "POST",
            f"/v1/streams/{quote(stream, safe='')}/change-sets",
            body={"changes": [dict(change) for change in changes]},
            query={"comment": comment, "dry_run": "true" if dry_run else None},
            answer_seconds=_ANSWER_SECONDS,
        )
