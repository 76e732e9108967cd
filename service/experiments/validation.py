"""Checks of a spec before it is stored."""

from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from normcore.data.registry import DatasetError, pin
from normcore.own_code import LoadedOptions
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, resolve
from service.errors import Invalid
from service.experiments import fused_kernels, memory, trained_run


def accepted(body: Any, datasets_dir: Path | None) -> ExperimentSpec:
    """The resolved spec, tied to its data.

    Raises:
        Invalid: fields are wrong, or its data is not at hand.
    """
    try:
        spec = pin(resolve(body), datasets_dir)
    except InvalidSpec as error:
        raise Invalid(error.errors) from None
    except DatasetError as error:
        raise Invalid([SpecError(error.field, str(error), "dataset")]) from None
    edited = loaded_options().edited(spec)
    if edited:
        raise Invalid([SpecError((part,), _edited(file), "options_edited") for part, file in edited.items()])
    return spec


@cache
def loaded_options() -> LoadedOptions:
    """The options that this process has; call it as the process starts, before anybody edits them."""
    return LoadedOptions()


def _edited(file: str) -> str:
    return f"{file} was edited after this service started, which has its older options and defaults; restart it"


def check_at_hand(
    session: Session, spec: ExperimentSpec, heartbeat_seconds: float, rooms: memory.Rooms | None = None
) -> None:
    """Refuse what asks for something that is not there now.

    Args:
        rooms: see ``memory.check``.

    Raises:
        Invalid: what the spec asks for is not there, be it a trained model, a kernel or memory.
    """
    trained_run.check(session, spec)
    fused_kernels.check(session, spec, heartbeat_seconds)
    memory.check(session, spec, heartbeat_seconds, rooms)
