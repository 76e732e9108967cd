"""Reading of a submitted result: check it, or list all of its errors."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from normcore.spec import InvalidSpec, SpecError, TrainingSpec, resolve
from normcore.spec.errors import first_errors
from normcore.spec.experiment import HASHED, ExperimentSpec
from normcore.spec.messages import choose, line, message, suggestion
from normcore.spec.tasks.char_lm import CharLM
from service.errors import Invalid
from service.leaderboards.submitted.schemas import Evidence, Provenance, SeedValue
from service.urls import has_password

OF_SPEC = (*HASHED, "spec_version")
FIELDS = (*OF_SPEC, *Evidence.model_fields)
A_VALUE = 0.61
A_SEED = re.compile("[0-9]{1,10}")
NO_OBJECT = ("model_type", "model_attributes_type", "dict_type")
EXAMPLE: dict[str, Any] = {
    "values": [{"seed": 0, "value": A_VALUE}, {"seed": 1, "value": 0.62}],
    "provenance": {"source": "https://example.org/log"},
}
AN_OBJECT = 'a result is an object, as {"task": …, "norm": …, "values": [{"seed": 0, "value": 0.9}], "provenance": …}'


class Submitted(NamedTuple):
    """A submitted result that passed all checks. Its spec has the seeds of its values."""

    spec: TrainingSpec
    evidence: Evidence


def read(written: Any) -> Submitted:
    """Check a submitted result. The data of its task need not be on this machine.

    Raises:
        Invalid: with an error for every field that is wrong.
    """
    if not isinstance(written, Mapping):
        raise Invalid([SpecError((), AN_OBJECT, "type")])
    errors = first_errors([name for name in written if name not in FIELDS], _refuse_unknown)
    spec: ExperimentSpec | None = None
    evidence: Evidence | None = None
    try:
        spec = resolve({name: written[name] for name in OF_SPEC if name in written})
    except InvalidSpec as refusal:
        errors += refusal.errors
    try:
        evidence = Evidence.model_validate({name: written[name] for name in Evidence.model_fields if name in written})
    except ValidationError as refusal:
        errors += first_errors(refusal.errors(include_url=False), _convert_error)
    if spec is not None:
        errors += _find_missing_board(spec)
    if evidence is not None:
        errors += first_errors(list(_find_doubled_seeds(evidence)), lambda error: error)
        errors += _secrets(evidence.provenance)
    if isinstance(spec, TrainingSpec) and evidence is not None:
        errors += first_errors(list(_find_impossible_values(spec, evidence)), lambda error: error)
    if errors or evidence is None or not isinstance(spec, TrainingSpec):
        raise Invalid(errors)
    return Submitted(spec.model_copy(update={"seeds": [one.seed for one in evidence.values]}), evidence)


def _refuse_unknown(name: Any) -> SpecError:
    close = "write each seed into values" if name == "seeds" else suggestion(name, FIELDS).strip()
    repair = close or f"choose from {', '.join(FIELDS)}"
    return SpecError((str(name),), f"unknown field; {repair}", "unknown_field")


def _convert_error(error: Any) -> SpecError:
    """Convert an error of pydantic about the evidence, and add what to write instead."""
    if error["type"] == "extra_forbidden":
        part = Provenance if error["loc"][0] == "provenance" else SeedValue
        return SpecError(error["loc"], f"unknown field; {choose(error['loc'][-1], part.model_fields)}", "unknown_field")
    return SpecError(error["loc"], _form(error) or message(error), error["type"])


def _form(error: Any) -> str | None:
    """Example of values and provenance, for an error that demands a list or an object; None for any other error."""
    loc, given = error["loc"], error["input"]
    if error["type"] == "missing" and len(loc) == 1:
        return f"it is required; add {line(loc, EXAMPLE[loc[0]])}"
    if loc == ("values",) and error["type"] == "list_type":
        return f"expected a list of seeds and their values; write {line(loc, _values(given))}"
    if loc[0] == "values" and len(loc) == 2 and error["type"] in NO_OBJECT:
        expected = f"expected a seed and its value, as {json.dumps(_seed_value(given, loc[1]))}"
        return f"{expected}; write {line(['values'], EXAMPLE['values'])}"
    if loc[0] == "values" and loc[2:] in (("seed",), ("value",)) and error["type"] == "missing":
        return f"it is required; write {json.dumps(_seed_value(given, loc[1]))}"
    if loc == ("values",) and error["type"] == "too_short":
        return f"{message(error)}, as {line(loc, EXAMPLE['values'])}"
    if loc == ("provenance",) and error["type"] in NO_OBJECT:
        source = given if isinstance(given, str) and given.startswith("http") else EXAMPLE["provenance"]["source"]
        return f"expected an object; write {line(loc, {'source': source})}"
    return None


def _values(given: Any) -> list[dict[str, Any]]:
    """Guess the list of seeds and values that a value may mean: an object has a value for each seed."""
    pairs = given.items() if isinstance(given, Mapping) else ()
    if pairs and all(A_SEED.fullmatch(str(seed)) for seed, _ in pairs):
        return [_seed_value([int(seed), value], int(seed)) for seed, value in pairs]
    return [_seed_value(given, 0)]


def _seed_value(given: Any, seed: int) -> dict[str, Any]:
    """Guess the seed and the value that an item of the list may mean: a number, a pair, or an object with other names.

    Args:
        seed: the seed if the item has none.
    """
    if isinstance(given, Mapping):
        numbers = [given["value"]] if "value" in given else [value for name, value in given.items() if name != "seed"]
        seed = given.get("seed", seed)
    elif isinstance(given, list) and len(given) == 2:
        seed, *numbers = given
    else:
        numbers = [given]
    is_number = (isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
    return {"seed": seed, "value": next(itertools.compress(numbers, is_number), A_VALUE)}


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
