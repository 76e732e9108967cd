"""Parameters of calls about boards."""

from typing import Annotated, Literal

from fastapi import Path, Query

from normcore.problem import own_problem
from normcore.spec.task import ProfileName
from service.leaderboards.ranking import RankBy, TimeBy

OWN_PROBLEM = own_problem("permuted_digits", "small").id

TaskName = Annotated[str, Path(description="The task's name.", examples=["permuted_digits"])]
Problem = Annotated[
    str | None,
    Query(description="The id of one of the board's problems; the profile's own if omitted.", examples=[OWN_PROBLEM]),
]
RankedBy = Annotated[RankBy, Query(description="What decides the rank.", examples=["steps_to_target"])]
Entries = Annotated[
    Literal["all", "best"],
    Query(description="`best`: one entry per method, the one with the best validation value.", examples=["best"]),
]
ProfileOfAll = Annotated[ProfileName, Query(description="The tasks' size.", examples=["small"])]
ComparedBy = Annotated[
    TimeBy, Query(description="The times whose medians are compared.", examples=["seconds_to_target"])
]
