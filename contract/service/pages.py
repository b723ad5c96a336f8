"""Lists, page by page."""

from typing import Generic, TypeVar

from pydantic import Field

from contract.service.bases import Answer

Item = TypeVar("Item")


class Page(Answer, Generic[Item]):
    """Some items of a list."""

    items: list[Item]
    next_cursor: str | None = Field(default=None, description="Null on the last page.")
