"""Choices of a sweep's page, as its address has them: fields of the heat table, order and filters of the cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Query

from normcore.spec import SpecError
from normcore.spec.messages import choose, quote_value
from service.errors import Invalid
from service.pages.rendering import address
from service.sweeps.levels import Field

Each = Literal["best", "mean"]
Order = Literal["first", "last"]
StateFilter = Literal["queued", "running", "succeeded", "failed", "cancelled", "diverged"]

NO_FIELD = "-"  # choice of no second field
COLUMNS = ("rank", "validation", "test", "seeds", "state")  # columns by which cells may be sorted, besides the fields
MAX_WHERE = 50  # filters by a field's value
MAX_PAGE = 1_000


@dataclass(frozen=True)
class SweepChoices:
    """Choices of a sweep's page.

    Attributes:
        rows, columns: paths of the fields of the heat table; None for the usual fields. If ``columns`` is
            ``NO_FIELD``, the table is over one field.
        each: what a cell of the heat table shows if several cells of the sweep belong to it: the best of them, or their
            mean.
        sort: column by which the cells are sorted, or the path of a field.
        order: whether the best, or the first, comes first or last.
        state: state of the shown cells; None for all.
        where: filters by fields, each as ``path=level``.
        page: number of the page of cells, from 1.
    """

    rows: str | None = None
    columns: str | None = None
    each: Each = "best"
    sort: str = "validation"
    order: Order = "first"
    state: StateFilter | None = None
    where: tuple[str, ...] = ()
    page: int = 1

    def address(self, sweep_id: str, **changes: Any) -> str:
        """Address of the page with other choices. A change of filters or order leads to the first page of cells."""
        changed = replace(self, **({"page": 1} | changes))
        usual = SweepChoices()
        names = ("rows", "columns", "each", "sort", "order", "state", "page")
        query = {name: value for name in names if (value := getattr(changed, name)) != getattr(usual, name)}
        return address(f"/sweeps/{sweep_id}", **query, where=list(changed.where) or None)

    def check(self, fields: Sequence[Field]) -> Self:
        """Return the choices. Filters that are empty, as a form sends them, are left out.

        Raises:
            Invalid: a field, a level or a column does not exist.
        """
        paths = [field.path for field in fields]
        for name, chosen, known in (
            ("rows", self.rows, paths),
            ("columns", self.columns, [*paths, NO_FIELD]),
            ("sort", self.sort, [*COLUMNS, *paths]),
        ):
            if chosen is not None and chosen not in known:
                raise _unknown(name, chosen, known)
        of_fields = {field.path: field for field in fields}
        for condition in self.where:
            path, _, level = condition.partition("=")
            if path not in of_fields:
                raise _unknown("where", condition, [f"{path}={of_fields[path].levels[0]}" for path in paths])
            if level not in of_fields[path].levels:
                raise _unknown("where", condition, [f"{path}={known}" for known in of_fields[path].levels])
        return self


def _unknown(parameter: str, given: str, known: Sequence[str]) -> Invalid:
    wrong = f"unknown {quote_value(given)}; {choose(given, known)}" if known else f"unknown {quote_value(given)}"
    return Invalid([SpecError((parameter,), wrong, f"unknown_{parameter}")])


async def choices(
    rows: Annotated[str | None, Query()] = None,
    columns: Annotated[str | None, Query()] = None,
    each: Annotated[Each, Query()] = "best",
    sort: Annotated[str, Query()] = "validation",
    order: Annotated[Order, Query()] = "first",
    state: Annotated[StateFilter | Literal[""] | None, Query()] = None,
    where: Annotated[list[str], Query(max_length=MAX_WHERE)] = (),  # type: ignore[assignment]
    page: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 1,
) -> SweepChoices:
    """Choices of a sweep's page, from its address."""
    given = tuple(dict.fromkeys(condition for condition in where if condition))
    return SweepChoices(rows or None, columns or None, each, sort, order, state or None, given, page)


SweepChoicesDep = Annotated[SweepChoices, Depends(choices)]
