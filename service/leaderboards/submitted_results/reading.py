"""Reading of a submitted result: check it, or list all of its errors."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from normcore.spec import InvalidSpec, SpecError, TrainingSpec, resolve
from normcore.spec.errors import first_errors
from normcore.spec.experiment import HASHED, ExperimentSpec
from normcore.spec.messages import choose, message, nearest, suggestion
from normcore.spec.tasks.char_lm import CharLM
from service.errors import Invalid
from service.leaderboards.submitted_results import advice
from service.leaderboards.submitted_results.schemas import Evidence, Provenance, SeedValue
from service.urls import has_password

OF_SPEC = (*HASHED, "spec_version")
FIELDS = (*OF_SPEC, *Evidence.model_fields)
NO_OBJECT = ("model_type", "model_attributes_type", "dict_type")
FINDERS = {"values": advice.find_values, "provenance": advice.find_source}
WRITERS = {"values": advice.write_values, "provenance": advice.write_provenance}
AN_OBJECT = 'a result is an object, as {"task": …, "norm": …, "values": [{"seed": 0, "value": 0.9}], "provenance": …}'


class CheckedResult(NamedTuple):
    """A submitted result that passed all checks. Its spec has the seeds of its values."""

    spec: TrainingSpec
    evidence: Evidence


class Claim:
    """A claim as a user wrote it, and the lines to write instead. A line is made once, however many errors show it."""

    def __init__(self, written: Mapping[Any, Any]) -> None:
        self.written = written

    @cached_property
    def found(self) -> dict[str, tuple[str, str] | None]:
        """Fields that may stand for a missing field, each with the line to write, by the name of the missing field."""
        return {field: find(self.written) for field, find in FINDERS.items() if field not in self.written}

    @cached_property
    def provenance(self) -> str:
        """Line to write for the provenance that the claim has."""
        return advice.write_provenance(self.written["provenance"])


def read(written: Any) -> CheckedResult:
    """Check a submitted result. The data of its task need not be on this machine.

    Raises:
        Invalid: with an error for every field that is wrong.
    """
    if not isinstance(written, Mapping):
        raise Invalid([SpecError((), AN_OBJECT, "type")])
    claim = Claim(written)
    errors = first_errors([name for name in written if name not in FIELDS], lambda name: _refuse_unknown(name, claim))
    spec: ExperimentSpec | None = None
    evidence: Evidence | None = None
    try:
        spec = resolve({name: written[name] for name in OF_SPEC if name in written})
    except InvalidSpec as refusal:
        errors += refusal.errors
    try:
        evidence = Evidence.model_validate({name: written[name] for name in Evidence.model_fields if name in written})
    except ValidationError as refusal:
        errors += first_errors(refusal.errors(include_url=False), lambda error: _convert_error(error, claim))
    if spec is not None:
        errors += _find_missing_board(spec)
    if evidence is not None:
        errors += first_errors(list(_find_doubled_seeds(evidence)), lambda error: error)
        errors += _secrets(evidence.provenance)
    if isinstance(spec, TrainingSpec) and evidence is not None:
        errors += first_errors(list(_find_impossible_values(spec, evidence)), lambda error: error)
    if errors or evidence is None or not isinstance(spec, TrainingSpec):
        raise Invalid(errors)
    return CheckedResult(spec.model_copy(update={"seeds": [one.seed for one in evidence.values]}), evidence)


def _refuse_unknown(name: Any, claim: Claim) -> SpecError:
    return SpecError((str(name),), f"unknown field; {_advise_by_name(name, claim)}", "unknown_field")


def _advise_by_name(name: Any, claim: Claim) -> str:
    if name == "seeds":
        return "write each seed into values"
    if name == "spec":
        return "write the fields of the spec at the top level"
    line = next((found[1] for found in claim.found.values() if found and found[0] == name), None)
    if line is not None:
        return f"write {line}"
    return suggestion(name, FIELDS).strip() or f"choose from {', '.join(FIELDS)}"


def _convert_error(error: Any, claim: Claim) -> SpecError:
    """Convert an error of pydantic about the evidence, and add what to write instead."""
    loc, kind = error["loc"], error["type"]
    if kind == "extra_forbidden":
        return SpecError(loc, f"unknown field; {_advise_unknown(loc, claim)}", "unknown_field")
    return SpecError(loc, _form(error, claim) or message(error), kind)


def _advise_unknown(loc: tuple[Any, ...], claim: Claim) -> str:
    """Write advice on an unknown field of a seed's value, or of the provenance."""
    if loc[0] == "provenance":
        is_missing = "source" not in claim.written["provenance"] and not nearest(loc[1], Provenance.model_fields)
        known = choose(loc[1], Provenance.model_fields)
        return f"write {claim.provenance}" if is_missing else known
    item = claim.written["values"][loc[1]]
    is_missing = any(name not in item for name in SeedValue.model_fields)
    return f"write {advice.write_item(item)}" if is_missing else choose(loc[-1], SeedValue.model_fields)


def _form(error: Any, claim: Claim) -> str | None:
    """Write the values or the provenance for an error that demands a list or an object; None for any other error."""
    loc, given, kind = error["loc"], error["input"], error["type"]
    if kind == "missing" and len(loc) == 1:
        found = claim.found[loc[0]]
        return f"it is required; add {found[1] if found else WRITERS[loc[0]](None)}"
    if loc == ("values",) and kind == "list_type":
        return f"expected a list of seeds and their values; write {advice.write_values(given)}"
    if loc[0] == "values" and len(loc) == 2 and kind in NO_OBJECT:
        return f"expected a seed and its value; write {advice.write_item(given)}"
    if loc[0] == "values" and loc[2:] in (("seed",), ("value",)) and kind == "missing":
        return f"it is required; write {advice.write_item(given)}"
    if loc == ("values",) and kind == "too_short":
        return f"{message(error)}, as {advice.write_values(None)}"
    if loc == ("provenance",) and kind in NO_OBJECT:
        return f"expected an object; write {claim.provenance}"
    if loc == ("provenance", "source") and kind == "missing":
        return f"it is required; write {claim.provenance}"
    return None


def _find_missing_board(spec: ExperimentSpec) -> Iterator[SpecError]:
    """Errors of a spec for which there is no board."""
    if not isinstance(spec, TrainingSpec):
        wrong = f"{spec.task.name} is an analysis and has no board; choose a task that trains"
        yield SpecError(("task", "name"), wrong, "no_board")
    elif isinstance(spec.task, CharLM) and spec.task.file is not None and spec.task.sha256 is None:
        wrong = "it is required with task.file, because the file need not be here; add the SHA-256 of the file"
        yield SpecError(("task", "sha256"), wrong, "missing")


def _find_doubled_seeds(evidence: Evidence) -> Iterator[SpecError]:
    seen: set[int] = set()
    for k, one in enumerate(evidence.values):
        if one.seed in seen:
            yield SpecError(("values", k, "seed"), f"seed {one.seed} is given twice; give it once", "duplicate")
        seen.add(one.seed)


def _secrets(provenance: Provenance) -> Iterator[SpecError]:
    for name, text in provenance.model_dump(exclude_none=True).items():
        if has_password(text):
            wrong = "everybody can read it; leave out the name and password before the @, as https://example.org/log"
            yield SpecError(("provenance", name), wrong, "secret")


def _find_impossible_values(spec: TrainingSpec, evidence: Evidence) -> Iterator[SpecError]:
    metric = spec.task.metric()
    for k, one in enumerate(evidence.values):
        if not metric.can_be(one.value):
            wrong = f"{metric.name} is {metric.limits}, and cannot be {one.value:g}"
            yield SpecError(("values", k, "value"), wrong, "impossible")
