"""Check of analyses of trained models: the run that such a spec names must have a model that the task can analyse."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, TrainingSpec, parse
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.plug_ins.blame import blame_plug_ins
from service.errors import Invalid
from service.experiments.analysis_model import OF_OLDER_CODE, is_of_older_code
from service.experiments.tables import Experiment, Run


def check(session: Session, spec: ExperimentSpec) -> None:
    """Check the run that the spec of an analysis names.

    Raises:
        Invalid: the run has no model, or the task cannot analyse its model.
    """
    if isinstance(spec.task, TrainedAnalysis):
        try:
            complaint = _complaint(session, spec.task)
        except InvalidSpec as error:
            raise Invalid(error.errors) from error
        if complaint is not None:
            raise Invalid([SpecError(("task", "run"), complaint, "run")])


def _complaint(session: Session, task: TrainedAnalysis) -> str | None:
    found = session.execute(
        select(Run.state, Run.value, Run.code, Experiment.spec).join(Experiment).where(Run.id == task.run)
    ).one_or_none()
    if found is None:
        return "there is no such run"
    try:
        trained = parse(found.spec)
    except ValueError:
        return "that run's spec cannot be read here; is a plug-in of its spec not installed? Name another run"
    if not isinstance(trained, TrainingSpec):
        return f"that run was an analysis, {trained.task.name}, and has trained no model; name the run of a training"
    if found.state != "succeeded":
        return f"that run is {found.state}; name a run that has succeeded"
    if found.value is None:
        return "that run diverged before it had a model; name another run"
    if is_of_older_code(trained, found.code):
        return OF_OLDER_CODE
    with blame_plug_ins({"task": {"name": task.name}}):
        return task.misfit(trained.task, trained.norm)
