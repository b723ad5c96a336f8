"""Lists, their versions and values."""

from typing import Annotated, Final

from pydantic import Field

from cep.definition.list_documents import ListName
from cep.instants import Instant
from cep.list_content import LONGEST_VALUE, MOST_VALUES, ListType
from contract.service.bases import Answer, OrNewer, Request

MOST_LISTS: Final = 200
"""So many lists a stream has at most."""
MOST_SCHEDULED: Final = 20
"""So many versions of a list are given to jobs at most, those that are scheduled among them."""
MOST_CHANGED: Final = 10_000
"""So many values are added, and removed, in one request."""
Description = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]
# A browser reads numbers beyond 53 bits as other numbers, so all values are shown as texts.
GivenValue = Annotated[str, Field(max_length=LONGEST_VALUE)] | Annotated[int, Field(strict=True)]


class ListDocument(Request):
    """A list to be created, without values."""

    name: ListName
    data_type: ListType = Field(
        alias="type", default="STRING", description="Of its values. It stays as it is."
    )
    description: Description = ""


class ListPatch(Request):
    """What a list is for; neither a version nor an epoch is made."""

    description: Description


class ListChanges(Request):
    """Values to be added to a list and removed from it."""

    add: Annotated[list[GivenValue], Field(max_length=MOST_CHANGED)] = Field(default=[])
    remove: Annotated[list[GivenValue], Field(max_length=MOST_CHANGED)] = Field(default=[])


class ListRollback(Request):
    """The version whose values a list shall have again."""

    version: int = Field(ge=1, lt=2**31, strict=True)


class ListVersionView(Answer):
    """One version of a list: an entry of its log."""

    version: int
    effective_from: Instant | None = Field(
        description="First event time it is for; null = at once."
    )
    is_published: bool = Field(description="Whether jobs are given it now.")
    has_values: bool = Field(
        description="Whether its values are kept: of what jobs are given, and of the last 20."
    )
    count: int = Field(description="How many values it has.")
    added: int = Field(description="Beside the version it was made from.")
    removed: int
    digest: str = Field(description="SHA-256 of its content.")
    restored_version: int | None = Field(description="The version it was rolled back to.")
    epoch: int = Field(description="The epoch it made.")
    created_at: Instant
    created_by: str
    comment: str


class NamingRule(Answer):
    """A rule that names a list, with those of its versions that do and that jobs are given."""

    processor_id: str
    versions: list[int]


class ListSummary(Answer):
    """One line of the lists of a stream."""

    stream: str
    name: str
    data_type: OrNewer[ListType] = Field(alias="type")
    description: str
    version: int = Field(description="The newest version.")
    count: int = Field(description="How many values the newest version has.")
    revision: int = Field(description="Counts every change; the ETag.")
    rule_count: int = Field(description="How many rules that jobs are given name it.")
    published: list[ListVersionView] = Field(description="What jobs are given, lowest first.")
    created_at: Instant
    created_by: str
    updated_at: Instant
    updated_by: str

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class ListView(ListSummary):
    """A list with the rules that name it."""

    rules: list[NamingRule] = Field(description="Rules that name it, by id; the first 100.")


class ListChangeView(ListView):
    """A list after a change of its values, or before it, if it was only asked for."""

    is_changed: bool = Field(description="False where no version was made: all was so already.")
    withdrawn: list[int] = Field(
        default=[], description="Scheduled versions whose place this change has taken."
    )
    base_version: int = Field(description="The version the change was made from.")
    new_count: int = Field(description="How many values the list has after the change.")
    added: int
    removed: int
    first_added: list[str] = Field(description="Some of the values added, in order.")
    first_removed: list[str] = Field(description="Some of the values removed, in order.")


class ValuesPage(Answer):
    """Some values of a version of a list, in order, as texts."""

    items: list[str] = Field(description=f"At most {MOST_VALUES:,} in all pages.")
    next_cursor: str | None = Field(default=None, description="Null on the last page.")
    version: int
    count: int = Field(description="How many values the version has, found or not.")
