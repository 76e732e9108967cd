"""Parameters of calls about experiments and runs."""

from typing import Annotated

from fastapi import Header, Path, Query
from pydantic import AfterValidator, Field

from normcore.figures import Theme
from normcore.spec import TASKS
from normcore.spec.experiment import MAX_LABELS
from normcore.spec.messages import Form, quote_value
from normcore.spec.methods import METHODS
from normcore.spec.task import ProfileName
from service.errors import NotFound
from service.experiments import examples, schemas


def _experiments_id(experiment_id: str) -> str:
    if experiment_id.startswith("swp_"):
        raise NotFound(
            f"no experiment {quote_value(experiment_id)}; this is a sweep's id, see /v1/sweeps/{experiment_id}"
        )
    if experiment_id.startswith("run_"):
        raise NotFound(f"no experiment {quote_value(experiment_id)}; this is a run's id, see /v1/runs/{experiment_id}")
    return experiment_id


def _no_experiments_id(run_id: str) -> str:
    if run_id.startswith("exp_"):
        raise NotFound(
            f"no run {quote_value(run_id)}; this is an experiment's id, its runs are in /v1/experiments/{run_id}"
        )
    return run_id


MAX_SERIES = 50
NO_NUL = r"^[^\x00]*$"
ETAG = '"6f3a1c0e9b2d4857"'

ExperimentId = Annotated[
    str, AfterValidator(_experiments_id), Path(description="The experiment's id.", examples=[examples.EXPERIMENT_ID])
]
RunId = Annotated[
    str, AfterValidator(_no_experiments_id), Path(description="The run's id.", examples=[examples.RUN_ID])
]
FileName = Annotated[str, Path(description="The file's name.", examples=["model.pt"])]

DryRun = Annotated[
    bool, Query(description="Store nothing; answer with the plan: runs, time and memory.", examples=[True])
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="A request that is sent again with the same key and body submits nothing new.",
        examples=["layer-norm-of-monday"],
    ),
]

TaskName = Annotated[
    str | None,
    Query(description="A task's name.", json_schema_extra={"enum": sorted(TASKS)}, examples=["permuted_digits"]),
]
Profile = Annotated[ProfileName | None, Query(description="A profile's name.", examples=["small"])]
MethodName = Annotated[
    str | None,
    Query(description="A method's name.", json_schema_extra={"enum": sorted(METHODS)}, examples=["layer_norm"]),
]
Beginning = Annotated[
    str,
    Form(
        "^[0-9a-f]{8,64}$",
        "give the first 8 or more characters of a fingerprint; `normbench leaderboard TASK` lists them",
    ),
]
Fingerprint = Annotated[
    Beginning | None,
    Query(description="The fingerprint, or its first 8 or more characters.", examples=[examples.FINGERPRINT[:12]]),
]
State = Annotated[schemas.State | None, Query(description="The experiment's state.", examples=["succeeded"])]
SweepId = Annotated[
    str | None,
    Query(pattern=NO_NUL, description="Only the experiments of this sweep.", examples=[examples.SWEEP_ID]),
]
Label = Annotated[str, Form(r"^[^\x00]{0,64}:[^\x00]{0,256}$", "give key:value, such as team:vision")]
Labels = Annotated[
    list[Label],
    Query(max_length=MAX_LABELS, description="`key:value`; repeat it to ask for several.", examples=[["team:vision"]]),
]

Text = Annotated[
    str | None,
    Query(
        pattern=NO_NUL,
        max_length=200,
        description="Text that stands in a label, the method, the task or the id; capital letters do not matter.",
        examples=["vision"],
    ),
]

Series = Annotated[
    list[Annotated[str, Field(pattern=NO_NUL)]],
    Query(
        max_length=MAX_SERIES,
        description="Names of series; all of them if omitted.",
        examples=[["valid.accuracy"]],
    ),
]
MaxPoints = Annotated[
    int | None, Query(ge=4, le=100_000, description="Most points of each series; extremes stay.", examples=[100])
]

LastEventId = Annotated[
    str | None,
    Header(description="The id of the last event that was received; later events follow.", examples=["1-20"]),
]
LastEventIdParameter = Annotated[
    str | None,
    Query(
        alias="last_event_id",
        pattern=NO_NUL,
        description="The header `Last-Event-ID`, for clients that cannot set headers.",
        examples=["1-20"],
    ),
]

FigureName = Annotated[
    str, Path(pattern=NO_NUL, description="The figure's name, such as `curves`.", examples=["curves"])
]
FigureTheme = Annotated[Theme, Query(alias="theme", description="The figure's colours.", examples=["dark"])]

Range = Annotated[
    str | None, Header(description="`bytes=FIRST-LAST`: answer with these bytes only.", examples=["bytes=0-1023"])
]
IfRange = Annotated[
    str | None, Header(description="`Range` counts only if this is the file's `ETag`.", examples=[ETAG])
]
IfNoneMatch = Annotated[
    str | None, Header(description="The `ETag` of an earlier answer; 304 if it has not changed.", examples=[ETAG])
]
