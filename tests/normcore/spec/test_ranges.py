"""A submitted spec has only numbers that a run can compute with in float32."""

from typing import Any

import pytest

from normcore.events import Finished
from normcore.spec import InvalidSpec, parse, resolve
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.ranges import LARGEST, largest_rate
from normcore.training.loop import train
from tests.normcore.training_specs import training_spec

SHORT: dict[str, Any] = {"max_steps": 2, "eval_every": 1}
ADAM: dict[str, Any] = {"name": "adam"}


def digits(**parts: Any) -> dict[str, Any]:
    return {"task": {"name": "permuted_digits", "profile": "smoke"}, **parts}


@pytest.mark.parametrize(
    ("written", "field", "bound"),
    [
        ({"norm": {"method": "layer_norm", "eps": 1e200}}, "norm.eps", "1e+200 is too large for float32; give 3.4e+38"),
        ({"norm": {"method": "layer_norm", "gain_init": 1e39}}, "norm.gain_init", "3.4e+38 at most"),
        ({"norm": {"method": "layer_norm", "gain_init": -1e39}}, "norm.gain_init", "-3.4e+38 at least"),
        ({"norm": {"method": "layer_norm", "bias_init": 2e38}}, "norm.bias_init", "1.7e+38 at most"),
        ({"model": {"forget_bias": 1e39}}, "model.forget_bias", "3.4e+38 at most"),
        ({"training": {"clip_norm": 1e39}}, "training.clip_norm", "or use float64 as training.precision"),
        ({"training": {"clip_norm": 1e39, "precision": "bfloat16"}}, "training.clip_norm", "3.4e+38 at most"),
        ({"training": {"optimizer": {**ADAM, "lr": 1e38}}}, "training.optimizer.lr", "3.4e+37 at most"),
        ({"training": {"optimizer": {"name": "rmsprop", "lr": 1e200}}}, "training.optimizer.lr", "3.4e+38 at most"),
        ({"training": {"optimizer": {**ADAM, "eps": 1e39}}}, "training.optimizer.eps", "3.4e+38 at most"),
    ],
)
def test_number_beyond_float32_is_refused_with_its_bound(written: dict[str, Any], field: str, bound: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve(digits(**written))
    [error] = caught.value.errors
    assert (".".join(map(str, error.loc)), error.type) == (field, "float32")
    assert bound in error.msg


def test_number_beyond_float32_is_accepted_in_float64() -> None:
    written = digits(norm={"method": "layer_norm", "eps": 1e200}, training={"precision": "float64"})
    assert resolve(written).model_dump()["norm"]["eps"] == 1e200


def test_stored_spec_with_a_number_beyond_float32_can_be_read() -> None:
    stored = resolve(digits(norm={"method": "layer_norm"})).model_dump(mode="json")
    stored["norm"]["eps"] = 1e200
    stored["training"]["optimizer"]["lr"] = 1e39
    assert parse(stored).model_dump(mode="json") == stored


def largest(field: str) -> float:
    return LARGEST / 2 if field == "bias_init" else LARGEST


def fastest(name: str, **options: float) -> dict[str, Any]:
    """Optimizer with the largest learning rate that is accepted."""
    usual = OPTIMIZERS.validate({"name": name, **options})
    return {"name": name, **options, "lr": largest_rate(usual)}


def floats(kind: Any) -> list[str]:
    """Names of a class's fields that take large numbers."""
    fields = kind.model_fields.items()
    return [name for name, field in fields if field.annotation is float and not has_upper_bound(field)]


def has_upper_bound(field: Any) -> bool:
    return any(hasattr(bound, "le") or hasattr(bound, "lt") for bound in field.metadata)


def spec_with(method: str, **options: Any) -> dict[str, Any]:
    """Spec of a task whose model the method fits."""
    task = "feedforward" if "layer" in METHODS[method].takes and not METHODS[method].takes & {"sum"} else None
    written = {"task": {"name": task, "profile": "smoke"}} if task else digits()
    return {**written, "norm": {"method": method, **options}, "training": SHORT}


LARGE = [
    *(
        spec_with(method, **{field: largest(field)})
        for method, kind in METHODS.ours.items()
        if kind.takes & {"layer", "recurrent"} and method not in ("group_norm", "instance_norm", "sequence_batch_norm")
        for field in floats(kind)
    ),
    *(
        digits(training={**SHORT, "optimizer": {"name": name, field: largest(field)}})
        for name, kind in OPTIMIZERS.items()
        for field in floats(kind)
        if field != "lr"
    ),
    *(digits(training={**SHORT, "optimizer": fastest(name)}) for name in OPTIMIZERS),
    *(
        digits(training={**SHORT, "optimizer": fastest(name, beta1=beta1)})
        for name in ("adam", "toronto_adam")
        for beta1 in (1e-15, 1 - 2**-53)
    ),
    digits(model={"forget_bias": LARGEST}, training=SHORT),
    digits(training={**SHORT, "clip_norm": LARGEST}),
]


@pytest.mark.parametrize("written", LARGE, ids=str)
def test_training_with_the_largest_number_that_is_accepted_ends(written: dict[str, Any]) -> None:
    *_, last = train(training_spec(written), seed=0)
    assert isinstance(last, Finished)


@pytest.mark.parametrize("beside", [{"optimizer": {"name": "toronto_adam", "beta1": 0.0}}, {"schedule": None}])
def test_toronto_adam_that_divides_by_zero_is_refused(beside: dict[str, Any]) -> None:
    written = {"optimizer": {"name": "toronto_adam"}, **beside}
    if "schedule" in beside:
        written["schedule"] = {"start": 1, "beta1": 0.0}
    with pytest.raises(InvalidSpec, match=r"training.optimizer: toronto_adam divides by beta1"):
        resolve(digits(training=written))
