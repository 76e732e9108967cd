"""Works behind what a user names: of a task, of a method, of data sets, and this software."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from normcore.bibliography import Work, software, works_in, works_of
from normcore.data.datasets import DATASETS
from normcore.spec import TASKS, ExperimentSpec, parse, resolve
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.task import Task
from service.citations.bibtex import bibtex
from service.citations.schemas import Citation, CitedKind
from service.experiments import queries as experiments
from service.experiments.schemas import ExperimentOut, RunOut
from service.http.routing import check_found

CITED: Mapping[str, Any] = ChainMap(TASKS, METHODS, DATASETS)  # type: ignore[arg-type]


@dataclass
class Works:
    """Works in the order in which they are added, each once, and notes on what has no work."""

    works: dict[Work, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, noun: str, name: str, citation: str, found: Iterable[Work]) -> None:
        """Add the works of one thing, or a note if there are none.

        Args:
            noun: word for the kind of thing, for the note.
        """
        works = dict.fromkeys(found)
        self.works |= works
        if not works and citation != "normbench":
            self.notes.append(f"{noun} {name} names no work that is known here; its citation: {citation}")


def citation(session: Session, name: str) -> Citation:
    """Find the works to cite for a task, a method, a data set or an experiment.

    Raises:
        NotFound: nothing has this name; the message suggests a similar name.
    """
    found = Works()
    kind: CitedKind
    if name.startswith("exp_"):
        kind, note = "experiment", _add_experiment(session, found, name)
    else:
        check_found("task, method, data set or experiment", name, CITED)
        kind, note = _add_known(found, name), None
    works = [*found.works, software(note)]
    return Citation(name=name, kind=kind, works=works, notes=found.notes, bibtex=bibtex(works, found.notes))


def _add_known(found: Works, name: str) -> CitedKind:
    """Add the works of a known name, and return what the name is."""
    if name in TASKS:
        _add_class(found, "the task", name, TASKS[name])
        _add_datasets(found, (need for spec in _specs(TASKS[name], name) for need in _needs(spec)))
        return "task"
    if name in METHODS:
        _add_class(found, "the method", name, METHODS[name])
        return "method"
    _add_datasets(found, [name])
    return "data set"


def _add_experiment(session: Session, found: Works, experiment_id: str) -> str | None:
    """Add the works of an experiment. An analysis of a run cites what the run's experiment does, too.

    Returns:
        The version that the runs had, in words; None if no run says it.
    """
    experiment = experiments.experiment(session, experiment_id)
    spec = _add_spec(found, experiment)
    if spec and isinstance(spec.task, TrainedAnalysis):
        run = experiments.run(session, spec.task.run)
        _add_spec(found, experiments.experiment(session, run.experiment_id))
    return _version(experiment.runs)


def _add_spec(found: Works, experiment: ExperimentOut) -> ExperimentSpec | None:
    """Add the works of an experiment's task, method and data; or a note and None if its spec cannot be read here."""
    try:
        spec = parse(experiment.spec)
    except ValueError:
        found.notes.append(f"the spec of {experiment.id} cannot be read here: it may need a package that is missing")
        return None
    _add_class(found, "the task", spec.task.name, type(spec.task))
    if spec.norm is not None:
        _add_class(found, "the method", spec.norm.method, type(spec.norm))
    _add_datasets(found, _needs(spec))
    return spec


def _add_class(found: Works, noun: str, name: str, kind: type[Method] | type[Task]) -> None:
    found.add(noun, name, kind.citation, works_of(kind))


def _add_datasets(found: Works, names: Iterable[str]) -> None:
    for name in dict.fromkeys(names):
        found.add("the data set", name, DATASETS[name].citation, works_in(DATASETS[name].citation))


def _specs(kind: type[Task], name: str) -> Iterator[ExperimentSpec]:
    """Specs of a task's profiles. An analysis of a run has none, because the user must name the run."""
    if not issubclass(kind, TrainedAnalysis):
        yield from (resolve({"task": {"name": name, "profile": profile}}) for profile in kind.profiles)


def _needs(spec: ExperimentSpec) -> Iterator[str]:
    return (need.dataset for need in spec.task.needs())


def _version(runs: Iterable[RunOut]) -> str | None:
    """Version of this software that trained the runs, in words; None if no run says it."""
    codes = {_code(run.environment["code"]) for run in runs if run.environment and run.environment.get("code")}
    return "; ".join(sorted(codes)) or None


def _code(code: Mapping[str, Any]) -> str:
    commit = f", commit {code['commit'][:12]}" if code.get("commit") else ""
    return f"Version {code.get('version')}{commit}{' with changes' if code.get('dirty') else ''}"
