"""Checks of a spec before the spec is stored."""

from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from normcore.data.registry import DatasetError, pin
from normcore.footprint import Footprint
from normcore.loaded_options import LoadedOptions
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, resolve
from service.errors import Invalid
from service.experiments import fused_kernels, memory, trained_run

_FILES = "normbench files of options"  # key in a session's own data, so that a session looks at a file once


def resolve_and_pin(body: Any, datasets_dir: Path | None) -> ExperimentSpec:
    """Resolve a spec, and tie it to the checksums of its data.

    Raises:
        Invalid: fields are wrong, or the data of the spec is missing.
    """
    try:
        spec = pin(resolve(body), datasets_dir)
    except InvalidSpec as error:
        raise Invalid(error.errors) from None
    except DatasetError as error:
        raise Invalid([SpecError(error.field, str(error), "dataset")]) from None
    loaded_options().compare_plug_ins(spec)
    return spec


@cache
def loaded_options() -> LoadedOptions:
    """Record the classes of options that this process has imported. Call this when the process starts, before anybody
    edits their files.
    """
    return LoadedOptions()


def _describe_edit(file: str) -> str:
    return f"{file} was edited after this service started; restart the service to load the new options and defaults"


def check_at_hand(session: Session, spec: ExperimentSpec, needed: Footprint | None, heartbeat_seconds: float) -> None:
    """Refuse a spec that asks for something that is missing now. This looks at files and asks the database.

    Args:
        needed: memory of a run, see ``normcore.footprint``.

    Raises:
        Invalid: the options of the spec were edited after this process started, or something that the spec asks for is
            missing: a trained model, a kernel or memory.
    """
    edited = loaded_options().find_edited(spec, session.info.setdefault(_FILES, {}))
    if edited:
        raise Invalid([SpecError((part,), _describe_edit(file), "options_edited") for part, file in edited.items()])
    trained_run.check(session, spec)
    fused_kernels.check(session, spec, heartbeat_seconds)
    memory.check(session, spec, needed, heartbeat_seconds)
