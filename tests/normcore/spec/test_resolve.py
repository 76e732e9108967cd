"""Any input becomes a resolved spec, or an error that names its field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normcore.spec import ExperimentSpec, InvalidSpec, changes, departures, resolve
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks import BENCHMARKS
from tests.normcore.training_specs import recurrent_model, training_spec

RECURRENT = [name for name, method in METHODS.items() if any(map(method.fits, CELLS.values()))]
RECURRENT_TASKS = [name for name, task in BENCHMARKS.items() if task.model is RecurrentModel]

written_specs = st.fixed_dictionaries(
    {
        "task": st.fixed_dictionaries(
            {"name": st.sampled_from(sorted(RECURRENT_TASKS))},
            optional={"profile": st.sampled_from(["paper", "small", "smoke"])},
        )
    },
    optional={
        "model": st.fixed_dictionaries(
            {}, optional={"cell": st.sampled_from(sorted(CELLS)), "hidden_size": st.just(7)}
        ),
        "norm": st.fixed_dictionaries({"method": st.sampled_from(RECURRENT)}),
        "training": st.fixed_dictionaries(
            {}, optional={"max_steps": st.integers(1, 10**5), "optimizer": st.fixed_dictionaries({"lr": st.just(0.25)})}
        ),
    },
)
seeds = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True)
labels = st.dictionaries(st.sampled_from(["team", "note.1"]), st.sampled_from(["", "vision", "ä"]))


def plain(spec: ExperimentSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json")


@given(written_specs)
def test_resolving_a_resolved_spec_changes_nothing(written: dict[str, Any]) -> None:
    resolved = plain(resolve(written))
    assert plain(resolve(resolved)) == resolved


@given(written_specs)
def test_writing_out_the_defaults_does_not_change_the_fingerprint(written: dict[str, Any]) -> None:
    assert resolve(plain(resolve(written))).fingerprint() == resolve(written).fingerprint()


@given(written_specs, seeds, st.sampled_from(["auto", "cpu", "cuda"]), st.integers(0, 9), labels)
def test_seeds_device_priority_and_labels_are_not_hashed(
    written: dict[str, Any], seeds: list[int], device: str, priority: int, labels: dict[str, str]
) -> None:
    other = {**written, "seeds": seeds, "device": device, "priority": priority, "labels": labels}
    assert resolve(other).fingerprint() == resolve(written).fingerprint()


@given(written_specs, st.floats(1e-6, 1e6, exclude_min=True))
def test_another_learning_rate_gives_another_fingerprint(written: dict[str, Any], lr: float) -> None:
    usual = training_spec(written)
    other = resolve({**plain(usual), "training": {**plain(usual)["training"], "optimizer": {"lr": lr}}})
    same = lr == usual.training.optimizer.lr
    assert (other.fingerprint() == usual.fingerprint()) == same


def test_a_fingerprint_without_the_norm_is_the_same_for_all_methods() -> None:
    groups = {
        resolve({"task": {"name": "permuted_digits"}, "norm": {"method": m}}).fingerprint({"norm"}) for m in RECURRENT
    }
    assert len(groups) == 1


def test_changes_list_all_differences_from_the_profile() -> None:
    assert changes(training_spec({"task": {"name": "permuted_digits"}, "norm": {"method": "layer_norm"}})) == {}
    spec = training_spec({"task": {"name": "permuted_digits"}, "model": {"cell": "gru"}, "training": {"batch_size": 7}})
    assert changes(spec) == {"model.cell": "gru", "training.batch_size": 7}
    usual = training_spec({"task": {"name": "permuted_digits"}}).training.batch_size
    assert departures(spec) == {"model.cell": ("gru", "lstm"), "training.batch_size": (7, usual)}


DIGITS = {"task": {"name": "permuted_digits"}}
WRONG: list[tuple[Any, tuple[str | int, ...], str]] = [
    ("permuted_digits", (), 'as {"task": {"name": "permuted_digits"}}'),
    ({}, ("task",), 'it is required; add it, as "task": {"name": '),
    ({"task": "char_lm"}, ("task",), 'expected an object, as {"name": "char_lm"}'),
    ({"task": None}, ("task",), 'expected an object, as {"name": '),
    (
        {"task": {}},
        ("task", "name"),
        "it is required; choose from attentive_reader, char_lm, convnet, draw, feedforward, fisher_geometry",
    ),
    ({"task": {"name": 3}}, ("task", "name"), "unknown 3; choose from attentive_reader, char_lm"),
    ({"task": {"name": "permuted_digit"}}, ("task", "name"), "did you mean 'permuted_digits'?"),
    ({"task": {"name": "permuted_digits", "profile": "huge"}}, ("task", "profile"), "'paper', 'small' or 'smoke'"),
    ({"task": {"name": "permuted_digits", "profile": "smal"}}, ("task", "profile"), "did you mean 'small'?"),
    ({"task": {"name": "char_lm", "corpus": "file"}}, ("task", "file"), "go together"),
    ({"task": {"name": "char_lm", "file": "mine.txt"}}, ("task", "file"), "go together"),
    ({"task": {"name": "char_lm", "sha256": "abc"}}, ("task", "sha256"), "64 hexadecimal digits"),
    ({"task": {"name": "char_lm", "sha256": "0" * 64}}, ("task", "sha256"), "goes with file: NAME; drop it"),
    ({"task": {"name": "char_lm", "corpus": "file", "file": "../x"}}, ("task", "file"), "without '..'"),
    ({**DIGITS, "model": {"cell": "lstn"}}, ("model", "cell"), "did you mean 'lstm'?"),
    ({**DIGITS, "training": 3}, ("training",), "expected an object of fields"),
    ({**DIGITS, "model": {"bidirectional": "yes"}}, ("model", "bidirectional"), "expected true or false"),
    ({**DIGITS, "model": {"hidden_size": 0}}, ("model", "hidden_size"), "greater than or equal to 1"),
    ({**DIGITS, "model": {"num_layers": 0}}, ("model", "num_layers"), "greater than or equal to 1"),
    (
        {**DIGITS, "model": {"recurrent_init": "ortho"}},
        ("model", "recurrent_init"),
        "'orthogonal', 'identity', 'uniform',",
    ),
    ({**DIGITS, "model": {"identity_gates": ["if"]}}, ("model", "identity_gates", 0), "'i', 'f', 'g' or 'o'"),
    ({**DIGITS, "model": {"cell": "transformer"}}, ("model", "cell"), f"choose from {', '.join(CELLS)}"),
    ({**DIGITS, "norm": {"method": "layer_norm", "gain": 1}}, ("norm", "gain"), "did you mean 'gain_init'?"),
    ({**DIGITS, "training": {"optimizer": {"lr": float("nan")}}}, ("training", "optimizer", "lr"), "finite"),
    ({**DIGITS, "training": {"optimizer": {"name": "adm"}}}, ("training", "optimizer", "name"), "did you mean 'adam'?"),
    ({**DIGITS, "training": {"kernel": "triton"}}, ("training", "kernel"), "'auto', 'reference' or 'fused'"),
    ({**DIGITS, "seeds": [2, 1, 1]}, ("seeds",), "1 stands more than once; give every seed once"),
    ({**DIGITS, "seeds": [-1]}, ("seeds", 0), "greater than or equal to 0"),
    ({**DIGITS, "labels": {"[key]": "c"}}, ("labels", "[key]"), "1 to 64 characters out of A-Z"),
    ({**DIGITS, "labels": {"a b": "c"}}, ("labels", "a b"), "1 to 64 characters out of A-Z"),
    ({**DIGITS, "prioritty": 3}, ("prioritty",), "did you mean 'priority'?"),
    (
        {**DIGITS, "norm": {"method": "recurrent_batch_norm"}, "training": {"batch_size": 1}},
        ("training", "batch_size"),
        "use 2 or more",
    ),
    (
        {**DIGITS, "model": {"cell": "gru"}, "norm": {"method": "recurrent_batch_norm", "sites": ["cell"]}},
        ("norm", "sites"),
        "gru has no site 'cell'",
    ),
    ({"task": {"name": "char_lm"}, "model": {"bidirectional": True}}, ("model", "bidirectional"), "use false"),
]


@pytest.mark.parametrize(("written", "loc", "message"), WRONG, ids=[".".join(map(str, w[1])) for w in WRONG])
def test_an_error_names_its_field_and_the_repair(written: Any, loc: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    (error,) = caught.value.errors
    assert error.loc == loc
    assert message in error.msg
    assert not any(python in error.msg for python in ("dictionary", "pattern", "Field", "instance"))


@pytest.mark.parametrize("file", ["./my/text.txt", "my//text.txt", "my/./text.txt"])
def test_path_of_a_text_file_is_resolved_to_a_single_name(file: str) -> None:
    usual, other = (
        resolve({"task": {"name": "char_lm", "corpus": "file", "file": name}}) for name in ("my/text.txt", file)
    )
    assert other.task.model_dump()["file"] == "my/text.txt"
    assert other.fingerprint() == usual.fingerprint()


def test_sites_of_an_rnn_are_the_sum_or_both_terms() -> None:
    rnn = {**DIGITS, "model": {"cell": "rnn"}}
    for method in ("layer_norm", "recurrent_batch_norm", "rms_norm", "dynamic_tanh"):
        assert training_spec({**rnn, "norm": {"method": method}}).norm.model_dump()["sites"] == ("sum",)
        at_terms = training_spec({**rnn, "norm": {"method": method, "sites": ["input", "recurrent"]}})
        assert recurrent_model(at_terms.model).cell == "rnn"
        with pytest.raises(InvalidSpec) as caught:
            resolve({**rnn, "norm": {"method": method, "sites": ["input", "sum"]}})
        assert [e.loc for e in caught.value.errors] == [("norm", "sites")]


def test_defaults_of_a_method_depend_on_the_cell_unless_given() -> None:
    for cell, usual in (("gru", "inside"), ("lstm", "outside"), ("rnn", "outside")):
        written = {**DIGITS, "model": {"cell": cell}, "norm": {"method": "layer_norm"}}
        assert training_spec(written).norm.model_dump()["bias"] == usual
        asked = {**written, "norm": {"method": "layer_norm", "bias": "both"}}
        assert training_spec(asked).norm.model_dump()["bias"] == "both"


def test_layer_norm_of_the_reader_has_the_bias_in_both_places_as_in_the_authors_code() -> None:
    written = {"task": {"name": "attentive_reader", "profile": "small"}, "norm": {"method": "layer_norm"}}
    assert training_spec(written).norm.model_dump()["bias"] == "both"
    assert training_spec({**written, "norm": {"method": "none"}}).norm.model_dump() == {"method": "none"}


def test_label_named_like_a_step_of_pydantic_and_with_a_wrong_value_is_refused() -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({**DIGITS, "labels": {"[key]": ["c"]}})
    assert {e.loc for e in caught.value.errors} == {("labels", "[key]")}


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({**DIGITS, "model": {"hidden_size": 0}, "norm": {"method": "layer_norm", "eps": -1.0}, "device": "tpu"})
    assert [e.loc for e in caught.value.errors] == [("model", "hidden_size"), ("norm", "eps"), ("device",)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_other_value_is_refused_with_invalid_spec(written: Any) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    assert caught.value.errors
