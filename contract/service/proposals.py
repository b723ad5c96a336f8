"""Proposals: changes that others approve first."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from cep.definition.document import ProcessorId, StreamName
from cep.definition.list_documents import ListName
from cep.instants import Instant
from cep.list_content import ListType
from contract.service.bases import Answer, OrNewer, Request
from contract.service.lists import MOST_CHANGED, Description, GivenValue
from contract.service.problems import Flaw
from contract.service.processors import Difference, ProcessorBody
from contract.service.rollouts import SharePercent

OPEN: Final = "open"
PUBLISHED: Final = "published"
REJECTED: Final = "rejected"
WITHDRAWN: Final = "withdrawn"
State = Literal["open", "published", "rejected", "withdrawn"]
RuleKind = Literal[
    "publish", "canary", "share", "promote", "rollback", "cancel", "resume", "delete"
]
ListKind = Literal[
    "list_create", "list_put", "list_change", "list_rollback", "list_cancel", "list_delete"
]
Kind = RuleKind | ListKind

MOST_OPEN: Final = 200
"""So many proposals may wait on one stream."""
MOST_COMMENTS: Final = 200
MOST_SHOWN: Final = 10_000
"""So many values a proposal adds to a list, and removes: what people can look through."""
MOST_SHOWN_CHARACTERS: Final = 2_000_000
"""In so many characters, of each."""

_Text = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]


class ProposedChange(Request):
    """A change of what runs.

    | kind | what it does | takes |
    |---|---|---|
    | `publish` | creates the rule, or publishes a new version | `document` |
    | `canary` | tries a version for a share of the keys | `document`, `share_percent` |
    | `share` | gives the tried version another share | `processor_id`, `share_percent` |
    | `promote` | publishes the tried version | `processor_id` |
    | `rollback` | publishes the content of an old version | `processor_id`, `version` |
    | `cancel` | takes back a scheduled version | `processor_id`, `version` |
    | `resume` | lets a paused rule run | `processor_id` |
    | `delete` | takes the rule out of what runs | `processor_id` |
    | `list_create` | adds a list | `stream`, `list_name`, and may take `list_type`, `values` |
    | `list_put` | gives a list these values instead of those it has | `values` |
    | `list_change` | adds values to a list and removes some | `add`, `remove` |
    | `list_rollback` | gives a list the values of an old version | `version` |
    | `list_cancel` | takes back a scheduled version of a list | `version` |
    | `list_delete` | takes a list and its values away | |

    What is about a list takes `stream` and `list_name`. Instead of `values` it may take `csv`; what
    changes values of a list that is there may take `effective_from`.
    """

    kind: Kind = "publish"
    document: ProcessorBody | None = Field(default=None, description="As a PUT takes it.")
    processor_id: ProcessorId | None = None
    version: Annotated[int, Field(ge=1, lt=2**31, strict=True)] | None = None
    share_percent: SharePercent | None = None
    stream: StreamName | None = Field(default=None, description="Whose list it is.")
    list_name: ListName | None = None
    list_type: ListType | None = Field(default=None, description="Of a new list; STRING.")
    description: Description | None = Field(default=None, description="Of a new list.")
    values: list[GivenValue] | None = None
    csv: str | None = Field(
        default=None, description="Values as CSV of one column, one on each line."
    )
    add: Annotated[list[GivenValue], Field(max_length=MOST_CHANGED)] | None = None
    remove: Annotated[list[GivenValue], Field(max_length=MOST_CHANGED)] | None = None
    effective_from: Instant | None = Field(
        default=None, description="First event time the new version of the list is for; null = now."
    )
    comment: _Text = Field(default="", description="What it is for; kept in the log as it is made.")


class Rejection(Request):
    """Why a proposal is not to be published."""

    reason: Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"^[^\x00]*\S[^\x00]*$")]


class CommentDocument(Request):
    """A comment to be added."""

    text: Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"^[^\x00]*\S[^\x00]*$")]


class CommentView(Answer):
    """A comment on a proposal."""

    number: int
    at: Instant
    author: str
    text: str


class ApprovalView(Answer):
    """One person has approved the change as it is now."""

    person: str = Field(description="Whose token it was, in lower case.")
    at: Instant


class ProposedValues(Answer):
    """What a proposal does to the values of a list, beside the version that it is compared with."""

    list_type: OrNewer[ListType]
    description: str = Field(description="Of a list to be created.")
    count: int = Field(description="How many values the list would have.")
    added: int
    removed: int
    added_values: list[str] = Field(
        description=f"In order; all of them, but for a rollback of more than {MOST_SHOWN:,}."
    )
    removed_values: list[str] = Field(
        description="Likewise; none are shown where the list is to be deleted."
    )
    withdrawn: list[int] = Field(description="Scheduled versions whose place it takes.")


class ProposalSummary(Answer):
    """One line of a list of proposals."""

    id: int
    stream: str
    processor_id: str = Field(description="The rule it is about; empty if it is about a list.")
    list_name: str = Field(description="The list it is about; empty if it is about a rule.")
    kind: OrNewer[Kind]
    state: OrNewer[State]
    revision: int = Field(description="Counts every edit; the ETag.")
    is_stale: bool = Field(
        description="Open, and what it is about has been changed since: it must be renewed first."
    )
    author: str
    comment: str
    approval_count: int = Field(description="How many people have approved it as it is.")
    required_approvals: int = Field(description="How many its stream asks for now.")
    comment_count: int
    effective_from: Instant | None = Field(
        description="Of a version of a list; of one of a rule it is in the content."
    )
    created_at: Instant
    edited_at: Instant
    closed_at: Instant | None
    closed_by: str

    @property
    def name(self) -> str:
        """The rule or list that it is about."""
        return self.list_name or self.processor_id

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class ProposalView(ProposalSummary):
    """A proposal, whole: what would change, what the check said, who approved it."""

    version: int | None = Field(description="The version it is about, if it is about one.")
    versions: list[int] = Field(description="All it is about; of a paused rule, what would run.")
    share_percent: float | None
    document: dict[str, Any] | None = Field(description="Of the rule, as it was sent, if any.")
    content: dict[str, Any] | None = Field(description="What would run, without the labels.")
    content_hash: str | None = Field(
        description="Of the content; that of its backtests, if it has been run over past events."
    )
    base_version: int | None = Field(
        description="What the content is compared with: the version that ran when it was proposed "
        "or, if none did, the one that ran last."
    )
    base_content: dict[str, Any] | None
    values: ProposedValues | None = Field(description="Of a list; null for rules.")
    differences: list[Difference]
    warnings: list[Flaw]
    example_count: int = Field(description="How many examples it has; all of them were met.")
    stream_version: int = Field(description="Version of the stream it was checked against.")
    is_mine: bool = Field(description="Whether whoever asks is its author.")
    approvals: list[ApprovalView]
    reason: str = Field(description="Why it was rejected.")
    published_version: int | None
    published_epoch: int | None

    @property
    def approvals_in_words(self) -> str:
        """How many people have approved it, and who."""
        who = ", ".join(each.person for each in self.approvals)
        if not self.required_approvals and not who:
            return "needs no approval"
        count = f"{self.approval_count} of {self.required_approvals} approvals"
        return f"{count} ({who})" if who else count
