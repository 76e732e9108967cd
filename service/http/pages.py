"""Lists in pages. A cursor, which is the id of the last item on a page, asks for the next page."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query, Request
from pydantic import BaseModel, Field

from normcore.spec.messages import Form

Item = TypeVar("Item")
ID = "^[a-z]{3}_[0-9A-Z]{26}$"


class Page(BaseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next_cursor: str | None = Field(None, description="Cursor that asks for the next page; null on the last page.")


def page(rows: Sequence[Item], limit: int, id_of: Callable[[Item], str]) -> Page[Item]:
    """Build the page of the first ``limit`` rows. If ``rows`` has one row more, there is a next page."""
    shown = list(rows[:limit])
    return Page(items=shown, next_cursor=id_of(shown[-1]) if len(rows) > limit else None)


def next_page(request: Request, shown: Page[Item]) -> str | None:
    """Address of the page that follows, for a format that has no place for a cursor; None on the last page."""
    if shown.next_cursor is None:
        return None
    url = request.url.include_query_params(cursor=shown.next_cursor)
    return f"{url.path}?{url.query}"


AnId = Annotated[str, Form(ID, "give `next_cursor` of the page before, as it is, or leave it out")]
Limit = Annotated[int, Query(ge=1, le=200, description="Items on a page.", examples=[20])]
Cursor = Annotated[
    AnId | None, Query(description="`next_cursor` of the page before.", examples=["exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"])
]
