"""What a training needs in memory beside what the live workers have: what fits nowhere is refused."""

from sqlalchemy.orm import Session

from normcore.footprint import Footprint, excess, footprint
from normcore.spec import ExperimentSpec, SpecError, TrainingSpec
from service.errors import Invalid
from service.fleet import registration

NO_MACHINE_HAS = 16 << 40  # bytes; the bound while no worker says how much it has


def check(
    session: Session, spec: ExperimentSpec, heartbeat_seconds: float, largest: dict[str, int | None] | None = None
) -> None:
    """Refuse what needs more memory than there is.

    Args:
        largest: memory of the largest live worker by device, as far as it was read for other specs; it is added to.

    Raises:
        Invalid: a run needs more than the largest live worker gives it; the field that matters most is named.
    """
    needed = footprint(spec)
    if needed is None or not isinstance(spec, TrainingSpec):
        return
    known = {} if largest is None else largest
    if spec.device not in known:
        known[spec.device] = registration.largest_memory(session, spec.device, heartbeat_seconds)
    there_is = known[spec.device]
    bound = NO_MACHINE_HAS if there_is is None else there_is
    if needed.total > bound:
        raise Invalid([_refusal(spec, needed, bound, is_known=there_is is not None)])


def _refusal(spec: TrainingSpec, needed: Footprint, bound: int, *, is_known: bool) -> SpecError:
    blamed = excess(spec, bound)
    whose = (
        "the largest live worker gives it" if is_known else "no worker is alive to say what it has, and the bound is"
    )
    repair = "use less" if blamed.most is None else f"use {blamed.most:,} or less"
    wrong = f"a run needs at least {in_words(needed.total)} of memory, and {whose} {in_words(bound)}; {repair}"
    return SpecError(blamed.field, wrong, "memory")


def in_words(size: int) -> str:
    """So many bytes: 209.7 MB, 15.8 GB, 1,885 GB."""
    if size < 10**9:
        return f"{size / 10**6:,.1f} MB"
    return f"{size / 10**9:,.1f} GB" if size < 10**11 else f"{size / 10**9:,.0f} GB"
