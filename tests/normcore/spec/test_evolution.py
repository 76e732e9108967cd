"""Stored specs of older versions keep their meaning."""

from typing import Any

import pytest

from normcore.spec import AnalysisSpec, InvalidSpec, TrainingSpec, parse, resolve
from normcore.spec.evolution import SPEC_VERSION, UPGRADES, upgrade

LSTM = {
    "cell": "lstm",
    "hidden_size": 16,
    "num_layers": 1,
    "bidirectional": False,
    "recurrent_init": "orthogonal",
    "forget_bias": 1.0,
    "identity_gates": ["g"],
}
SINCE_ADDED = {"first_state": "trained", "first_cell": "trained", "cell_bias": True}
TRAINING = {
    "optimizer": {"name": "adam", "lr": 0.002, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    "batch_size": 16,
    "max_steps": 20,
    "clip_norm": 1.0,
    "eval_every": 5,
    "target": 4.5,
    "precision": "float32",
    "kernel": "auto",
}
REST = {"seeds": [0, 7], "device": "auto", "priority": 5, "labels": {"team": "a"}}
CHAR_LM = {
    "kind": "training",
    "task": {
        "name": "char_lm",
        "profile": "smoke",
        "corpus": "pydoc",
        "file": None,
        "sha256": None,
        "sequence_length": 20,
        "eval_chars": 1000,
    },
    "model": LSTM,
    "norm": {"method": "weight_norm", "mean_only_batch_norm": False},
    "training": TRAINING,
    **REST,
}
"""Spec as version 0 stored it: without a version, with one extent for both texts."""


def invariances(**norm: Any) -> dict[str, Any]:
    task = {"name": "invariances", "profile": "small"}
    return {"kind": "analysis", "task": task, "model": None, "norm": norm, **REST}


def test_every_version_has_an_upgrade_step() -> None:
    assert len(UPGRADES) == SPEC_VERSION


def test_spec_of_the_present_version_is_unchanged() -> None:
    today = resolve({"task": {"name": "char_lm"}}).model_dump(mode="json")
    assert today["spec_version"] == SPEC_VERSION
    assert upgrade(today) == today
    assert parse(today) == resolve({"task": {"name": "char_lm"}})


def test_eval_chars_becomes_valid_chars_and_test_chars() -> None:
    for characters in (1000, None):
        stored = {**CHAR_LM, "task": {**CHAR_LM["task"], "eval_chars": characters}}  # type: ignore[dict-item]
        task = upgrade(stored)["task"]
        assert "eval_chars" not in task
        assert (task["valid_chars"], task["test_chars"]) == (characters, characters)


def test_upgrade_does_not_change_the_stored_object() -> None:
    before = repr(CHAR_LM)
    upgrade(CHAR_LM)
    assert repr(CHAR_LM) == before


def test_training_of_version_0_keeps_its_meaning() -> None:
    spec = parse(CHAR_LM)
    assert isinstance(spec, TrainingSpec)
    assert spec.spec_version == SPEC_VERSION
    assert spec.model.model_dump(mode="json") == {**LSTM, **SINCE_ADDED}
    assert spec.norm.model_dump() == {"method": "weight_norm", "mean_only_batch_norm": False, "init": "weights"}
    training = spec.training.model_dump()
    assert {name: training[name] for name in TRAINING} == TRAINING
    assert (training["clip"], training["schedule"]) == ("global", None)
    assert (spec.seeds, spec.labels) == ([0, 7], {"team": "a"})


def test_training_of_version_0_has_the_fingerprint_of_the_same_spec_today() -> None:
    written = {"task": {"name": "char_lm", "profile": "smoke"}, "norm": {"method": "weight_norm"}}
    assert parse(CHAR_LM).fingerprint() == resolve(written).fingerprint()


@pytest.mark.parametrize("method", ["layer_norm", "rms_norm", "dynamic_tanh", "recurrent_batch_norm"])
def test_sites_of_a_lstm_become_the_site_of_a_layer_in_invariances(method: str) -> None:
    """Version 0 stored the sites of an LSTM, although a layer has none of them."""
    spec = parse(invariances(method=method, sites=["input", "recurrent", "cell"]))
    assert isinstance(spec, AnalysisSpec)
    assert spec.norm is not None
    assert spec.norm.model_dump()["sites"] == ("layer",)
    today = resolve({"task": {"name": "invariances"}, "norm": {"method": method}})
    assert spec.fingerprint() == today.fingerprint()


def test_option_carry_of_a_cell_is_reset_in_invariances() -> None:
    spec = parse(invariances(method="recurrent_batch_norm", sites=["cell"], carry="normalized"))
    assert spec.norm is not None
    assert spec.norm.model_dump()["carry"] == "raw"


def test_groups_of_group_norm_stay_in_invariances() -> None:
    spec = parse(invariances(method="group_norm", gain_init=1.0, eps=1e-5, groups=32))
    assert spec.norm is not None
    assert spec.norm.model_dump()["groups"] == 32


def test_sites_of_a_recurrent_network_stay() -> None:
    stored = {**CHAR_LM, "norm": {"method": "layer_norm", "sites": ["input", "recurrent"]}}
    norm = parse(stored).norm
    assert norm is not None
    assert norm.model_dump()["sites"] == ("input", "recurrent")


def test_analysis_without_a_norm_gets_no_norm() -> None:
    task = {"name": "fisher_geometry", "profile": "small"}
    spec = parse({"kind": "analysis", "task": task, "model": None, "norm": None, **REST})
    assert spec.norm is None
    assert spec.model is None


def test_stored_spec_of_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match=f"of version {SPEC_VERSION + 1}, but .* only versions up to {SPEC_VERSION};"):
        parse({**CHAR_LM, "spec_version": SPEC_VERSION + 1})


def test_a_written_spec_of_version_0_is_upgraded() -> None:
    written = {
        "spec_version": 0,
        "task": {"name": "char_lm", "profile": "smoke", "eval_chars": 500},
        "norm": {"method": "layer_norm"},
    }
    spec = resolve(written)
    today = {"name": "char_lm", "profile": "smoke", "valid_chars": 500, "test_chars": 500}
    assert spec == resolve({"task": today, "norm": {"method": "layer_norm"}})
    assert spec.spec_version == SPEC_VERSION


def test_written_spec_of_version_0_is_completed_from_the_profile() -> None:
    assert resolve({"spec_version": 0, "task": {"name": "char_lm"}}) == resolve({"task": {"name": "char_lm"}})


@pytest.mark.parametrize(
    ("written", "loc"),
    [
        ({"spec_version": 0}, ("task",)),
        ({"spec_version": 0, "task": {}}, ("task", "name")),
        ({"spec_version": 0, "task": "char_lm"}, ("task",)),
        ({"spec_version": 0, "task": {"name": "invariances"}, "norm": 3}, ("norm",)),
        ({"spec_version": 0, "task": {"name": "invariances"}, "norm": "sites"}, ("norm",)),
        ({"spec_version": 0, "task": {"name": "permuted_digits", "eval_chars": 3}}, ("task", "valid_chars")),
        ({"spec_version": SPEC_VERSION + 1, "task": {"name": "char_lm"}}, ("spec_version",)),
        ({"spec_version": -1, "task": {"name": "char_lm"}}, ("spec_version",)),
        ({"spec_version": True, "task": {"name": "char_lm"}}, ("spec_version",)),
        ({"spec_version": "1", "task": {"name": "char_lm"}}, ("spec_version",)),
        ({"task": {"name": "char_lm", "eval_chars": 500}}, ("task", "eval_chars")),
    ],
)
def test_error_in_a_spec_of_any_version_names_its_field(written: dict[str, Any], loc: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    assert caught.value.errors[0].loc == loc
