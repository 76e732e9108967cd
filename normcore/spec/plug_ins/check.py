"""Check of a class from another package: the class is complete, and each of its profiles resolves.

Otherwise the package is trusted: whoever installs a package runs its code. A later error is reported with the name of
the package: see ``blame``.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, get_args

from pydantic import ValidationError

from normcore.data.datasets import DATASETS
from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses.analysis import Analysis, TrainedAnalysis
from normcore.spec.cells import CELLS
from normcore.spec.experiment import AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.spec.messages import message
from normcore.spec.methods.method import Method
from normcore.spec.metric import Metric
from normcore.spec.models import MODELS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Part
from normcore.spec.plug_ins.errors import Unfit, in_words
from normcore.spec.resolve import complete_spec
from normcore.spec.task import ProfileName, Task
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.work import Work

PROFILES: tuple[str, ...] = get_args(ProfileName)
SOME_RUN = "run_" + "0" * 26


def check(kind: type[Part]) -> None:
    """Check a class of a plug-in: use it as the service will.

    Raises:
        Unfit: the class cannot be used; the message says why.
    """
    declared = {name for base in kind.__mro__ for name in getattr(base, "__class_vars__", ())}
    missing = sorted(name for name in declared if not hasattr(kind, name))
    _expect(not missing, f"expected the class variables {', '.join(missing)}")
    for name in declared & {"title", "citation", "x"}:
        _expect(isinstance(getattr(kind, name), str), f"{name}: expected text")
    works = getattr(kind, "works", ())
    _expect(
        isinstance(works, tuple) and all(isinstance(work, Work) for work in works),
        "works: expected a tuple of Work, as (Work(title=..., authors=(...), year=...),)",
    )
    with _raise_unfit("home"):
        _expect(kind.home != "", "expected the module that implements it")
        _expect(find_spec(kind.home.partition(":")[0]) is not None, f"there is no module {kind.home}")
    with _raise_unfit("its options"):
        json.dumps(kind.model_json_schema(), allow_nan=False)
    if issubclass(kind, Method):
        _check_method(kind)
    elif issubclass(kind, RecurrentModel):
        with _raise_unfit("cost()"):
            kind.model_validate({}).with_readout(1, 2, 3, read=2)
    elif issubclass(kind, Benchmark | Analysis):
        _check_task(kind)


def _check_method(kind: type[Method]) -> None:
    required = any(field.is_required() for field in kind.model_fields.values())
    for model in (*CELLS.values(), *(model for model in MODELS.values() if model is not RecurrentModel)):
        with _raise_unfit(f"with {model.__name__}"):
            if kind.fits(model) and not required:
                kind.model_validate({**kind.defaults(model)})


def _check_task(kind: type[Benchmark] | type[Analysis]) -> None:
    tag = kind.model_fields["name"].default
    _expect(
        tag not in (ANALYSES.ours if issubclass(kind, Benchmark) else BENCHMARKS),
        "there is a task or an analysis of that name already",
    )
    is_all = isinstance(kind.profiles, Mapping) and set(kind.profiles) == set(PROFILES)
    _expect(is_all, f"profiles: expected {', '.join(PROFILES)}")
    if issubclass(kind, Benchmark):
        _expect(all(isinstance(metric, Metric) for metric in kind.metrics), "metrics: expected a tuple of Metric")
        _expect(len(kind.metrics) > 0, "metrics: expected at least one")
    for profile in kind.profiles:
        with _raise_unfit(f"the profile {profile}"):
            spec = _resolve(kind, tag, profile)
            spec.fingerprint()
            for need in spec.task.needs():
                _expect(need.dataset in DATASETS, f"there is no data set {need.dataset!r}")
            if isinstance(spec, TrainingSpec):
                spec.task.cost(spec.model)


def _resolve(kind: type[Task], tag: str, profile: str) -> ExperimentSpec:
    """Resolve the spec of a task with one of its profiles. The task need not be registered."""
    run = {"run": SOME_RUN} if issubclass(kind, TrainedAnalysis) else {}
    spec = complete_spec(kind, {"task": {"name": tag, "profile": profile, **run}})
    spec["task"] = kind.model_validate(spec["task"])
    return (TrainingSpec if issubclass(kind, Benchmark) else AnalysisSpec).model_validate(spec)


@contextmanager
def _raise_unfit(what: str) -> Iterator[None]:
    """Turn any error in the ``with`` block into ``Unfit``, with a message that begins with ``what``.

    Raises:
        Unfit: the block raised an error.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, (*first["loc"], *first.get("ctx", {}).get("loc", ()))))
        raise Unfit(f"{what}: {field + ': ' if field else ''}{message(first)}") from error
    except Exception as error:
        raise Unfit(f"{what}: {in_words(error)}") from error


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise Unfit(otherwise)
