"""Changes of several rules as one."""

from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from cep.definition.document import ProcessorId
from cep.expression.parameters import Written
from contract.service.bases import Answer, OrNewer, Request
from contract.service.problems import Flaw
from contract.service.processors import Difference, LabelsPatch, ProcessorBody, State
from contract.service.rollouts import SharePercent

MOST_CHANGES: Final = 500
Action = Literal[
    "create",
    "publish",
    "replace",
    "set_parameters",
    "label",
    "pause",
    "resume",
    "rollback",
    "cancel",
    "delete",
    "start_rollout",
    "share_rollout",
    "promote_rollout",
    "end_rollout",
]


def _base(written: Any) -> int | str:
    is_revision = isinstance(written, int) and not isinstance(written, bool)
    if written == "*" or (is_revision and 0 <= written < _NO_REVISION):
        return cast("int | str", written)
    raise PydanticCustomError("base", "Write the revision, a whole number, or '*' for any")


_NO_REVISION: Final = 2**31
# In one piece: the problems of a union have the names of its parts in their places.
Base = Annotated[
    int | str,
    PlainValidator(_base),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "exclusiveMaximum": _NO_REVISION},
                {"const": "*"},
            ]
        }
    ),
]


class RuleChange(Request):
    """One change of one rule, as a request of its own would make it.

    | action | takes | does |
    |---|---|---|
    | `create` | `document`, `paused`, `shadow` | adds a rule |
    | `publish` | `document`, `paused` | adds a rule or, if it is there, publishes a version |
    | `replace` | `document` | publishes a version; also one with a schedule |
    | `set_parameters` | `id`, `values` | publishes a version with other values of parameters |
    | `label` | `id`, `labels` | changes labels |
    | `pause`, `resume` | `id` | stops it, lets it run again |
    | `rollback` | `id`, `version` | publishes the content of an old version |
    | `cancel` | `id`, `version` | takes back a scheduled version |
    | `delete` | `id` | takes it out of what runs |
    | `start_rollout` | `document`, `share_percent` | tries a version beside what is published |
    | `share_rollout` | `id`, `share_percent` | gives the tried version another share |
    | `promote_rollout` | `id` | publishes the tried version |
    | `end_rollout` | `id` | takes the tried version back |
    """

    action: Action
    id: ProcessorId | None = Field(default=None, description="The rule.")
    document: ProcessorBody | None = Field(default=None, description="As a PUT takes it.")
    based_on: Base | None = Field(
        default=None,
        description="The revision (ETag) of the rule that this was made from, `*` = any. The first "
        "change of each rule that is there has one; those after it are based on that.",
    )
    paused: bool | None = Field(default=None, description="Do not run what is added.")
    shadow: bool | None = Field(default=None, description="Only try what is added.")
    version: Annotated[int, Field(ge=1, lt=2**31, strict=True)] | None = None
    labels: LabelsPatch | None = None
    values: Annotated[dict[str, Written], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="New values by name; other parameters keep theirs."
    )
    share_percent: SharePercent | None = None

    @property
    def rule(self) -> str:
        """The id of the rule; "" if its document says none."""
        written = self.id if self.document is None else self.document.get("id")
        return written if isinstance(written, str) else ""


class ChangeSet(Request):
    """Changes of the rules of a stream, in the order in which they are made."""

    changes: Annotated[list[RuleChange], Field(min_length=1, max_length=MOST_CHANGES)]


class RuleChanged(Answer):
    """What one change has made of its rule, or would make of it."""

    action: OrNewer[Action]
    id: str
    is_changed: bool = Field(description="False = it was like that already.")
    state_before: OrNewer[State] | None = Field(description="Null = there was no such rule.")
    state: OrNewer[State]
    revision: int = Field(description="Counts every change of the rule; the ETag.")
    version: int = Field(description="The newest version that is or was published.")
    added_version: int | None = Field(description="The version that this has made, if any.")
    withdrawn: list[int] = Field(description="Scheduled versions whose place this has taken.")
    warnings: list[Flaw] = Field(description="About its document: allowed, but rarely intended.")
    differences: list[Difference] | None = Field(
        description="Of a dry run: how `added_version` differs in meaning from the version before."
    )


class ChangeSetView(Answer):
    """What a change set has changed, or would change."""

    stream: str
    is_dry_run: bool
    epoch: int | None = Field(
        description="The epoch that it has made. Null = nothing that runs has changed."
    )
    changes: list[RuleChanged] = Field(description="One for each change, in the same order.")
