"""A class of another package is tried once before it is let in, as the service will use it.

What fails here would otherwise stop the service, or answer somebody's request with an error of the server.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from normcore.data.datasets import DATASETS
from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses.analysis import Analysis, TrainedAnalysis
from normcore.spec.cells import CELLS
from normcore.spec.experiment import AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.spec.messages import message
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.metric import Direction, Metric
from normcore.spec.models import MODELS
from normcore.spec.models.model import PLACES, Cost, Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Misfit, Part
from normcore.spec.plug_ins import Unfit, in_words
from normcore.spec.resolve import completed
from normcore.spec.task import DEFAULT_PROFILE, Need, Profile, ProfileName, Task
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark, Best, LastMean

P = TypeVar("P", bound=Part)
PROFILES: tuple[str, ...] = get_args(ProfileName)
SOME_RUN = "run_" + "0" * 26


def try_out(kind: type[Part]) -> None:
    """Use a class as the service will.

    Raises:
        Unfit: it cannot be used; the message says why.
    """
    _declares_all(kind)
    _home_is_there(kind)
    with _during("its options"):
        kind.model_rebuild()
        _as_json(kind.model_json_schema())
        _usual(kind)
    if issubclass(kind, Method):
        _try_method(kind)
    elif issubclass(kind, Model):
        _try_model(kind)
    elif issubclass(kind, Benchmark):
        _try_benchmark(kind)
    elif issubclass(kind, Analysis):
        _try_analysis(kind)


# -- any class -------------------------------------------------------------------------------------


def _declares_all(kind: type[Part]) -> None:
    declared = {name for base in kind.__mro__ for name in getattr(base, "__class_vars__", ())}
    missing = sorted(name for name in declared if not hasattr(kind, name))
    _expect(not missing, f"expected the class variables {', '.join(missing)}")


def _home_is_there(kind: type[Part]) -> None:
    """Check that the module of the implementation could be imported. It is not imported, since it needs torch."""
    home = kind.home
    _expect(home not in ("", None), "expected home, the module that implements it")
    _expect(isinstance(home, str), "home: expected 'module' or 'module:Class'")
    module, colon, name = home.partition(":")
    names = [*module.split("."), *([name] if colon else [])]
    _expect(all(name.isidentifier() for name in names), f"home: expected 'module' or 'module:Class', not '{home}'")
    _expect(_can_be_found(module), f"home: there is no module {module}")


def _can_be_found(module: str) -> bool:
    """Tell if a module can be found. ``importlib.util.find_spec`` would import its packages, and with them torch."""
    path: Any = None
    names = module.split(".")
    for upto in range(1, len(names) + 1):
        name = ".".join(names[:upto])
        if name in sys.modules:
            path = getattr(sys.modules[name], "__path__", ())
            continue
        specs = (finder.find_spec(name, path) for finder in sys.meta_path)
        try:
            found = next((spec for spec in specs if spec is not None), None)
        except KeyError:  # folders without __init__.py in one another: only importing them would tell
            return True
        if found is None:
            return False
        path = found.submodule_search_locations or ()
    return True


def _usual(kind: type[P], options: Mapping[str, Any] | None = None) -> P | None:
    """One with these options and otherwise defaults, through JSON and back; None if more options must be given."""
    given = dict(options or {})
    if any(field.is_required() and name not in given for name, field in kind.model_fields.items()):
        return None
    made = kind.model_validate(given)
    _survives_json(made)
    return made


def _survives_json(made: Part) -> None:
    dumped = made.model_dump(mode="json")
    _as_json(dumped)
    made.canonical()
    _expect(type(made).model_validate(dumped) == made, "written as JSON and read again, its defaults are others")


# -- methods and models ----------------------------------------------------------------------------


def _try_method(kind: type[Method]) -> None:
    _texts(kind, "title", "citation")
    _expect(_are_places(kind.takes, frozenset), f"takes: expected a frozenset of {', '.join(PLACES)}")
    for model in _models():
        _try_together(kind, model)


def _try_model(kind: type[Model]) -> None:
    _expect(_are_places(kind.places, frozenset), f"places: expected a frozenset of {', '.join(PLACES)}")
    _expect(_are_places(kind.usual, tuple), f"usual: expected a tuple of {', '.join(PLACES)}")
    if not issubclass(kind, RecurrentModel):  # of cells it would ask for all there are
        with _during("kinds()"):
            kinds = kind.kinds()
            _expect(all(issubclass(one, Model) for one in kinds.values()), "expected models by tag")
    with _during("its usual sizes"):
        made = _usual(kind)
        if made is not None:
            _as_json([made.label, list(made.channels)])
    if isinstance(made, RecurrentModel):
        with _during("cost()"):
            _expect_cost(made.with_readout(1, 2, 3, read=2))
    for method in METHODS.ours.values():
        _try_together(method, kind)


def _models() -> Iterator[type[Model]]:
    """Every class of models, the cells too."""
    yield from CELLS.values()
    yield from (kind for kind in MODELS.values() if kind is not RecurrentModel)


def _try_together(method: type[Method], model: type[Model]) -> None:
    with _during(f"{method.__name__}.fits({model.__name__})"):
        fits = method.fits(model)
    with _during(f"{method.__name__}.defaults({model.__name__})"):
        options = {**method.defaults(model)}
        try:
            norm = _usual(method, options)
        except ValidationError:
            if fits:
                raise
            return
    made = _usual(model)
    if norm is not None and made is not None:
        with _during(f"{method.__name__}.misfit({model.__name__})"):
            _expect_misfit(norm.misfit(made))
            _ = norm.needs_batch(made), norm.initializes_from_data


# -- tasks -----------------------------------------------------------------------------------------


def _try_benchmark(kind: type[Benchmark]) -> None:
    _expect(_tag(kind) not in ANALYSES.ours, "there is an analysis of that name already")
    _expect(isinstance(kind.metrics, tuple) and len(kind.metrics) > 0, "metrics: expected a tuple of one or more")
    for metric in kind.metrics:
        _expect(_is_metric(metric), f"metrics: {metric!r} is none with name, unit and direction")
    selection = kind.selection
    _expect(isinstance(selection, Best | LastMean), "selection: expected Best or LastMean")
    _expect(isinstance(selection, LastMean) or _is_metric(selection.metric), "selection: expected Best of a metric")
    _expect(isinstance(kind.model, type) and issubclass(kind.model, Model), "model: expected a class of models")
    if kind.model not in MODELS.values():
        _try_model(kind.model)
    for spec in _try_profiles(kind):
        assert isinstance(spec, TrainingSpec)
        with _during(f"cost() in the profile {spec.task.profile}"):
            _expect_cost(spec.task.cost(spec.model))
        for metric in kind.metrics:
            with _during(f"test_items({metric.name!r}) in the profile {spec.task.profile}"):
                _expect_items(spec.task.test_items(metric.name))
        for model in kind.model.kinds().values():
            with _during(f"misfit({model.__name__})"):
                made = _usual(model)
                if made is not None:
                    _expect_misfit(spec.task.misfit(made))


def _try_analysis(kind: type[Analysis]) -> None:
    _expect(_tag(kind) not in BENCHMARKS, "there is a task of that name already")
    is_model = isinstance(kind.model, type) and issubclass(kind.model, Model)
    _expect(kind.model is None or is_model, "model: expected a class of models, or None")
    _expect(kind.subject is None or isinstance(kind.subject, Model), "subject: expected a model, or None")
    for spec in _try_profiles(kind):
        if isinstance(spec.task, TrainedAnalysis):
            _try_trained(spec.task)


def _try_trained(task: TrainedAnalysis) -> None:
    """Try a trained analysis with a run of each of our tasks."""
    for name, benchmark in BENCHMARKS.ours.items():
        with _during(f"misfit() with {name}"):
            trained = _spec(benchmark, DEFAULT_PROFILE)
            assert isinstance(trained, TrainingSpec)
            complaint = task.misfit(trained.task, trained.norm)
            _expect(complaint is None or isinstance(complaint, str), "expected text, or None")


def _try_profiles(kind: type[Task]) -> Iterator[ExperimentSpec]:
    """The spec of each profile, tried."""
    _texts(kind, "title", "citation", "x")
    meant = "training" if issubclass(kind, Benchmark) else "analysis"
    _expect(kind.kind == meant, f"kind: expected '{meant}'")
    is_all = isinstance(kind.profiles, Mapping) and set(kind.profiles) == set(PROFILES)
    _expect(is_all, f"profiles: expected {', '.join(PROFILES)}")
    for name, profile in kind.profiles.items():
        where = f"the profile {name}"
        _expect(isinstance(profile, Profile), f"{where}: expected a Profile")
        _expect(_is_text(profile.description), f"{where}: expected a description")
        with _during(where):
            spec = _spec(kind, name)
            _survives_json(spec.task)
            spec.fingerprint()
        for method in METHODS if kind.takes_norm else ():
            with _during(f"{where} with {method}"):
                _only_refuses(kind, name, method)
        with _during(f"needs() in {where}"):
            for need in spec.task.needs():
                _expect(isinstance(need, Need), f"expected a Need, not {need!r}")
                _expect(need.dataset in DATASETS, f"there is no data set {need.dataset!r}")
        yield spec


def _spec(kind: type[Task], profile: str, **written: Any) -> ExperimentSpec:
    """Resolve the spec of a task that is not registered yet."""
    run = {"run": SOME_RUN} if issubclass(kind, TrainedAnalysis) else {}
    spec = completed(kind, {"task": {"name": _tag(kind), "profile": profile, **run}, **written})
    spec["task"] = kind.model_validate(spec["task"])
    return (TrainingSpec if issubclass(kind, Benchmark) else AnalysisSpec).model_validate(spec)


def _only_refuses(kind: type[Task], profile: str, method: str) -> None:
    """A method that does not go with the task is told so in a ValidationError; any other error would be ours."""
    try:
        _spec(kind, profile, norm={"method": method})
    except ValidationError:
        return


# -- what is expected ------------------------------------------------------------------------------


@contextmanager
def _during(what: str) -> Iterator[None]:
    """Whatever is raised in the block is the class's fault; the message begins with ``what``.

    Raises:
        Unfit: something was raised.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, (*first["loc"], *first.get("ctx", {}).get("loc", ()))))
        raise Unfit(f"{what}: {field + ': ' if field else ''}{message(first)}") from error
    except Exception as error:
        raise Unfit(f"{what}: {in_words(error)}") from error


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unfit(otherwise)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def _is_text(value: Any) -> bool:
    """Tell if a text can be sent. Half of a surrogate pair cannot."""
    return isinstance(value, str) and value.encode(errors="replace").decode() == value


def _texts(kind: type[Part], *names: str) -> None:
    for name in names:
        _expect(_is_text(getattr(kind, name)), f"{name}: expected text")


def _are_places(value: Any, container: type) -> bool:
    return isinstance(value, container) and set(value) <= set(PLACES)  # type: ignore[call-overload]


def _is_metric(metric: Any) -> bool:
    if not isinstance(metric, Metric):
        return False
    in_words = _is_text(metric.name) and _is_text(metric.unit) and _is_text(metric.no_skill or "")
    return in_words and metric.direction in get_args(Direction) and all(map(_is_bound, metric.bounds))


def _is_bound(bound: Any) -> bool:
    return bound is None or (type(bound) in (int, float) and math.isfinite(bound))


def _expect_misfit(misfit: Any) -> None:
    is_one = isinstance(misfit, Misfit) and _is_text(misfit.field) and _is_text(misfit.message)
    _expect(misfit is None or is_one, "expected a Misfit, or None")


def _expect_items(items: Any) -> None:
    _expect(items is None or (type(items) is int and items > 0), "expected a whole number from 1 on, or None")


def _expect_cost(cost: Any) -> None:
    is_one = isinstance(cost, Cost) and all(type(number) is int for number in cost)
    _expect(cost is None or is_one, "expected a Cost of whole numbers, or None")


def _tag(kind: type[Task]) -> str:
    tag: str = kind.model_fields["name"].default
    return tag
