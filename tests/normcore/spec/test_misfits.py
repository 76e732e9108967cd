"""Misfits are refused with the field that has to change and with the repair."""

from typing import Any

import pytest

from normcore.spec import InvalidSpec, parse, resolve
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models import MODELS
from normcore.spec.models.conv_net import ConvNet
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.resolve import TASKS
from normcore.spec.tasks import BENCHMARKS

KINDS: dict[str, type[Model]] = {**CELLS, **{tag: kind for tag, kind in MODELS.items() if kind is not RecurrentModel}}
REPAIRS = ("use ", "choose ")


def usual(method: type[Method], model: type[Model], **options: Any) -> Method:
    return method.model_validate({**method.defaults(model), **options})


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_method_fits_a_model_if_its_default_options_fit(method: type[Method], kind: type[Model]) -> None:
    groups = {"groups": 4} if method.model_fields.keys() & {"groups"} else {}  # what fits depends on the sizes
    misfit = usual(method, kind, **groups).misfit(kind())
    assert method.fits(kind) == (misfit is None)
    if misfit is not None:
        assert misfit.field == "method"


def test_methods_fit_only_the_models_with_their_places() -> None:
    assert [tag for tag, kind in KINDS.items() if METHODS["instance_norm"].fits(kind)] == ["conv_net"]
    layers = ["attentive_reader", "conv_net", "feed_forward"]
    assert [tag for tag, kind in KINDS.items() if METHODS["batch_norm"].fits(kind)] == layers
    assert [tag for tag, kind in KINDS.items() if METHODS["query_key_norm"].fits(kind)] == []
    assert all(METHODS["none"].fits(kind) for kind in KINDS.values())


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_refusal_names_an_existing_field_and_a_repair(method: type[Method], kind: type[Model]) -> None:
    sites = [{"sites": (site,)} for site in ("sum", "cell", "layer", "attention")]
    wrong: list[dict[str, Any]] = [{}, {"groups": 7}, {"init": "data"}, *sites]
    known = [options for options in wrong if options.keys() <= method.model_fields.keys()]
    for options in known:
        misfit = usual(method, kind, **options).misfit(kind())
        if misfit is not None:
            assert misfit.field in method.model_fields
            assert any(repair in misfit.message for repair in REPAIRS), misfit.message


@pytest.mark.parametrize(
    ("name", "profile"),
    [(name, profile) for name, task in TASKS.items() if task.takes_norm for profile in task.profiles],
)
def test_every_profile_accepts_the_methods_that_fit_and_refuses_others(name: str, profile: str) -> None:
    task = TASKS[name]
    family = task.model or FeedForward  # the analysis invariances measures a layer of units
    chosen = family.kind_of(task.profiles[profile].model)  # type: ignore[index]
    assert chosen is not None
    refused = {}
    for method in METHODS:
        try:
            spec = resolve({"task": {"name": name, "profile": profile}, "norm": {"method": method}})
        except InvalidSpec as error:
            refused[method] = [each.loc for each in error.errors]
        else:
            assert spec.norm is not None, method
    assert refused == {tag: [("norm", "method")] for tag, method in METHODS.items() if not method.fits(chosen)}


DIGITS, DENSE, CONV, DRAW = (
    {"task": {"name": n, "profile": "smoke"}} for n in ("permuted_digits", "feedforward", "convnet", "draw")
)
RBN = {"method": "recurrent_batch_norm"}
WRONG: list[tuple[dict[str, Any], tuple[str | int, ...], str]] = [
    ({**DENSE, "model": {"cell": "lstm"}}, ("model", "cell"), "choose from hidden_sizes"),
    ({**DENSE, "model": {"hidden_size": 3}}, ("model", "hidden_size"), "did you mean 'hidden_sizes'?"),
    ({**DENSE, "model": {"hidden_sizes": []}}, ("model", "hidden_sizes"), "give 1 or more"),
    ({**DENSE, "model": {"hidden_sizes": [5, 0]}}, ("model", "hidden_sizes", 1), "greater than or equal to 1"),
    ({**CONV, "model": {"hidden_sizes": [8]}}, ("model", "hidden_sizes"), "choose from stage_channels"),
    ({**CONV, "model": {"dropout": 1.0}}, ("model", "dropout"), "less than 1"),
    ({**CONV, "model": {"stage_channels": [4, 4]}}, ("model", "stage_channels"), "use fewer stages"),
    (
        {
            "task": {**CONV["task"], "dataset": "mnist"},
            "model": {"stage_channels": [4, 4, 4]},
            "norm": {"method": "instance_norm"},
        },
        ("task", "dataset"),
        "one place of mnist is left, where instance_norm is 0",
    ),
    (
        {
            "task": {**CONV["task"], "dataset": "mnist"},
            "model": {"stage_channels": [4, 4, 4], "head_channels": 1},
            "norm": {"method": "layer_norm"},
        },
        ("task", "dataset"),
        "one place of mnist is left, where layer_norm is 0",
    ),
    ({"task": {**DIGITS["task"], "examples": 1197}}, ("task", "examples"), "has 1,197 training images; use fewer"),
    (
        {**DIGITS, "model": {"cell": "gru"}, "norm": {"method": "recurrent_batch_norm", "carry": "normalized"}},
        ("norm", "carry"),
        "use raw, or add it",
    ),
    (
        {**DENSE, "norm": {"method": "sequence_batch_norm"}, "training": {"batch_size": 1}},
        ("training", "batch_size"),
        "use 2 or more",
    ),
    (
        {**DIGITS, "norm": {"method": "layer_norm", "sites": ["sum", "input"]}},
        ("norm", "sites"),
        "sum is input and recurrent together",
    ),
    ({**DIGITS, "model": {"hidden_sizes": [8]}}, ("model", "hidden_sizes"), "did you mean 'hidden_size'?"),
    ({**DIGITS, "model": {"cell": None}}, ("model", "cell"), f"choose from {', '.join(CELLS)}"),
    ({**DIGITS, "norm": {"method": "query_key_norm"}}, ("norm", "method"), "it normalizes attention"),
    ({**DENSE, "norm": {"method": "query_key_norm"}}, ("norm", "method"), "choose another method"),
    ({**DIGITS, "norm": {"method": "batch_norm"}}, ("norm", "method"), "lstm has cell, input, recurrent, sum"),
    ({**DENSE, "norm": {"method": "instance_norm"}}, ("norm", "method"), "use group_norm"),
    ({**DENSE, "norm": {"method": "group_norm", "groups": 5}}, ("norm", "groups"), "use a divisor"),
    ({**CONV, "norm": {"method": "group_norm", "groups": 3}}, ("norm", "groups"), "4 channels make no 3 equal groups"),
    ({**DENSE, "norm": {"method": "layer_norm", "sites": ["cell"]}}, ("norm", "sites"), "use some of layer, output"),
    ({**DENSE, "norm": {"method": "group_norm", "sites": ["output"]}}, ("norm", "sites"), "use some of layer"),
    ({**DENSE, "norm": {"method": "batch_norm", "sites": ["input"]}}, ("norm", "sites"), "no site 'input'"),
    (
        {**DENSE, "norm": {"method": "layer_norm", "bias": "both"}},
        ("norm", "bias"),
        "in feed_forward; use outside",
    ),
    ({**CONV, "norm": {"method": "layer_norm", "scope": "per_gate"}}, ("norm", "scope"), "changes nothing in conv_net"),
    ({**DIGITS, "norm": {"method": "layer_norm", "conv_gain": "per_channel"}}, ("norm", "conv_gain"), "use per_unit"),
    ({**DENSE, "norm": {"method": "rms_norm", "bias_init": 0.5}}, ("norm", "bias_init"), "use 0.0"),
    (
        {**DENSE, "norm": {"method": "recurrent_batch_norm", "statistics": "shared"}},
        ("norm", "statistics"),
        "use per_step",
    ),
    (
        {**DENSE, "norm": {"method": "recurrent_batch_norm", "input_statistics": "sequence"}},
        ("norm", "input_statistics"),
        "changes nothing in feed_forward; use per_step",
    ),
    (
        {**DIGITS, "norm": {**RBN, "input_statistics": "sequence", "sites": ["recurrent"]}},
        ("norm", "input_statistics"),
        "use per_step",
    ),
    (
        {**DRAW, "norm": {**RBN, "sites": ["input"], "input_statistics": "sequence"}},
        ("norm", "input_statistics"),
        "draw makes its inputs as it goes; use per_step",
    ),
    (
        {"task": {"name": "attentive_reader", "profile": "smoke"}, "norm": {"method": "group_norm", "groups": 3}},
        ("norm", "groups"),
        "8 channels make no 3 equal groups; use a divisor",
    ),
    ({**DRAW, "training": {"kernel": "fused"}}, ("training", "kernel"), "no fused kernel for draw; use auto"),
    ({**CONV, "norm": {"method": "layer_norm", "affine": False, "gain_init": 2.0}}, ("norm", "gain_init"), "use 1.0"),
    (
        {**CONV, "norm": {"method": "layer_norm", "sites": ["output"], "conv_gain": "per_channel"}},
        ("norm", "conv_gain"),
        "use per_unit",
    ),
    (
        {**CONV, "norm": {"method": "layer_norm", "affine": False, "conv_gain": "per_channel"}},
        ("norm", "conv_gain"),
        "use per_unit",
    ),
    ({**CONV, "norm": {"method": "batch_norm", "sites": [], "eps": 0.1}}, ("norm", "eps"), "use 1e-05"),
    ({**DIGITS, "norm": {"method": "recurrent_batch_norm", "sites": [], "eps": 0.1}}, ("norm", "eps"), "use 1e-05"),
    ({**DIGITS, "norm": {"method": "recurrent_batch_norm", "momentum": 0.5}}, ("norm", "momentum"), "use 0.1"),
    (
        {**DENSE, "model": {"hidden_sizes": [8, 1]}, "norm": {"method": "layer_norm"}},
        ("norm", "method"),
        "use larger layers",
    ),
    ({**DIGITS, "model": {"hidden_size": 1}, "norm": {"method": "layer_norm"}}, ("norm", "method"), "single numbers"),
    (
        {
            **DIGITS,
            "model": {"hidden_size": 1},
            "norm": {"method": "layer_norm", "sites": ["input", "recurrent"], "scope": "per_gate"},
        },
        ("norm", "method"),
        "single numbers",
    ),
    (
        {**DIGITS, "model": {"cell": "rnn", "hidden_size": 1}, "norm": {"method": "layer_norm"}},
        ("norm", "method"),
        "in rnn it would standardize single numbers",
    ),
    (
        {**DIGITS, "model": {"cell": "gru", "hidden_size": 1}, "norm": {"method": "layer_norm"}},
        ("norm", "method"),
        "in gru it would standardize single numbers",
    ),
    (
        {**DENSE, "model": {"hidden_sizes": [8, 4]}, "norm": {"method": "group_norm", "groups": 4}},
        ("norm", "method"),
        "use larger layers, or larger groups",
    ),
    ({**DIGITS, "norm": {"method": "weight_norm", "init": "data"}}, ("norm", "init"), "use weights"),
    (
        {**DENSE, "norm": {"method": "batch_norm"}, "training": {"batch_size": 1}},
        ("training", "batch_size"),
        "use 2 or more",
    ),
    (
        {**DENSE, "norm": {"method": "batch_renorm"}, "training": {"batch_size": 1}},
        ("training", "batch_size"),
        "use 2 or more",
    ),
    (
        {**CONV, "norm": {"method": "weight_norm", "mean_only_batch_norm": True}, "training": {"batch_size": 1}},
        ("training", "batch_size"),
        "use 2 or more",
    ),
    ({"task": {"name": "feedforward", "dataset": "mnits"}}, ("task", "dataset"), "did you mean 'mnist'?"),
    ({"task": {"name": "feedforward", "whitening": True}}, ("task", "whitening"), "unknown field"),
    ({**DENSE, "training": {"schedule": {"start": -1}}}, ("training", "schedule", "start"), "or equal to 0"),
    ({**DENSE, "training": {"clip": "layer"}}, ("training", "clip"), "'global', 'per_tensor' or 'global_root'"),
    (
        {"task": {"name": "invariances"}, "norm": {"method": "layer_norm", "bias": "both"}},
        ("norm", "bias"),
        "use outside",
    ),
]


@pytest.mark.parametrize(("written", "loc", "message"), WRONG, ids=[".".join(map(str, w[1])) for w in WRONG])
def test_bad_input_is_refused_at_its_field(written: Any, loc: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    (error,) = caught.value.errors
    assert error.loc == loc
    assert message in error.msg


def test_method_without_statistics_over_the_batch_takes_a_single_example() -> None:
    for norm in (
        {"method": "layer_norm"},
        *({"method": method, "sites": []} for method in ("batch_norm", "batch_renorm", "recurrent_batch_norm")),
    ):
        assert resolve({**DENSE, "norm": norm, "training": {"batch_size": 1}}).max_steps == 40
    assert resolve({**DIGITS, "norm": {"method": "sequence_batch_norm"}, "training": {"batch_size": 1}}).max_steps


def test_stages_of_a_convnet_are_limited_by_the_size_of_the_images() -> None:
    """8 pixels halved once are 4. 32 pixels halved three times are 4, and halved four times 2."""
    assert resolve(CONV).model == ConvNet(stage_channels=(4,), stage_depth=1, head_channels=4, dropout=0.0)
    cifar10 = {"task": {"name": "convnet", "profile": "paper"}}
    assert resolve({**cifar10, "model": {"stage_channels": [8, 8, 8]}}).max_steps == 90_000
    with pytest.raises(InvalidSpec, match="use fewer stages"):
        resolve({**cifar10, "model": {"stage_channels": [8, 8, 8, 8]}})


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.takes_norm])
def test_resolved_spec_is_written_and_resolved_to_the_same_spec(name: str) -> None:
    spec = resolve({"task": {"name": name, "profile": "smoke"}, "norm": {"method": "layer_norm"}})
    written = spec.model_dump(mode="json")
    assert resolve(written) == spec
    if spec.model is not None:
        assert written["model"].keys() == type(spec.model).model_fields.keys()


def test_the_benchmarks_of_images_take_models_without_cells() -> None:
    assert {name for name, task in BENCHMARKS.items() if task.model in (FeedForward, ConvNet)} == {
        "feedforward",
        "convnet",
    }


def test_layer_of_one_unit_is_accepted_if_no_norm_standardizes_it_alone() -> None:
    one = {**DENSE, "model": {"hidden_sizes": [8, 1]}}
    resolve({**one, "norm": {"method": "rms_norm"}})
    resolve({**one, "norm": {"method": "layer_norm", "sites": ["output"]}})
    resolve({**one, "norm": {"method": "group_norm", "groups": 1, "sites": []}})
    for sites in (["input", "recurrent"], ["sum"]):
        resolve({**DIGITS, "model": {"hidden_size": 1}, "norm": {"method": "layer_norm", "sites": sites}})
    resolve({**DIGITS, "model": {"cell": "rnn", "hidden_size": 1}, "norm": {"method": "layer_norm", "sites": []}})
    on_mnist, three_stages = {"task": {**CONV["task"], "dataset": "mnist"}}, {"stage_channels": [4, 4, 4]}
    resolve({**on_mnist, "model": three_stages, "norm": {"method": "batch_norm"}})
    one_channel = {**three_stages, "head_channels": 1}
    resolve({**on_mnist, "model": one_channel, "norm": {"method": "layer_norm", "sites": ["output"]}})


@pytest.mark.parametrize(
    "norm",
    [
        {"method": "recurrent_batch_norm", "population": "running", "momentum": 0.5},
        {"method": "recurrent_batch_norm", "sites": [], "initial_state_noise": 0.5},
        {"method": "rms_norm", "sites": [], "bias_init": 0.5},
    ],
)
def test_norm_options_that_change_something_are_kept_as_given(norm: dict[str, Any]) -> None:
    resolved = resolve({**DIGITS, "norm": norm}).model_dump(mode="json")["norm"]
    assert {name: resolved[name] for name in norm} == norm


@pytest.mark.parametrize("norm", [{"method": "layer_norm", "bias": "both"}, {"method": "group_norm", "groups": 8}])
def test_pointless_norm_option_is_refused_when_submitted_and_read_when_stored(norm: dict[str, Any]) -> None:
    written = {**DENSE, "model": {"hidden_sizes": [8, 8]}}
    stored = resolve({**written, "norm": {"method": norm["method"], **({"groups": 2} if "groups" in norm else {})}})
    dumped = stored.model_dump(mode="json")
    dumped["norm"] |= norm
    assert parse(dumped).model_dump(mode="json")["norm"] == dumped["norm"]
    with pytest.raises(InvalidSpec) as caught:
        resolve(dumped)
    assert caught.value.errors[0].type == "pointless"


def test_noise_on_a_first_state_that_draw_does_not_add_is_refused_when_submitted_and_read_when_stored() -> None:
    norm = {"method": "recurrent_batch_norm"}
    dumped = resolve({"task": {"name": "draw", "profile": "smoke"}, "norm": norm}).model_dump(mode="json")
    dumped["norm"]["initial_state_noise"] = 0.5
    assert parse(dumped).model_dump(mode="json") == dumped
    with pytest.raises(InvalidSpec) as caught:
        resolve(dumped)
    [error] = caught.value.errors
    assert (error.loc, error.type) == (("norm", "initial_state_noise"), "pointless")
    assert error.msg == "with the other options it changes nothing in draw; use 0.0"
    on_handwriting = resolve(
        {"task": {"name": "handwriting", "profile": "smoke"}, "norm": {**norm, "initial_state_noise": 0.5}}
    )
    assert on_handwriting.model_dump(mode="json")["norm"]["initial_state_noise"] == 0.5


def test_pointless_options_of_task_and_norm_are_refused_together() -> None:
    dumped = resolve({**DIGITS, "norm": {"method": "layer_norm"}}).model_dump(mode="json")
    dumped["task"]["examples"] = 1197
    dumped["norm"]["conv_gain"] = "per_channel"
    assert parse(dumped).model_dump(mode="json") == dumped
    with pytest.raises(InvalidSpec) as caught:
        resolve(dumped)
    assert {(error.loc, error.type) for error in caught.value.errors} == {
        (("norm", "conv_gain"), "pointless"),
        (("task", "examples"), "pointless"),
    }


READER = {"task": {"name": "attentive_reader", "profile": "smoke"}}


@pytest.mark.parametrize(
    ("written", "loc", "message"),
    [
        ({"model": {"padding": "cyclic"}, "norm": {"method": "layer_norm"}}, ("model", "padding"), "use zeros"),
        ({"model": {"padding": "cyclic"}, "norm": {"method": "none"}}, ("model", "padding"), "use zeros"),
        ({"training": {"clip": "global_root", "clip_norm": None}}, ("training", "clip"), "or give a clip_norm"),
        ({"training": {"clip": "per_tensor", "clip_norm": None}}, ("training", "clip"), "use global"),
    ],
)
def test_an_option_of_model_or_training_that_changes_nothing_is_refused(
    written: dict[str, Any], loc: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({"norm": {"method": "none"}, **READER, **written})
    [error] = caught.value.errors
    assert (error.loc, error.type) == (loc, "pointless")
    assert message in error.msg


@pytest.mark.parametrize(
    "written",
    [
        {"model": {"padding": "cyclic"}, "norm": {"method": "recurrent_batch_norm"}},
        {"training": {"clip": "global_root", "clip_norm": 3.0}},
        {"training": {"clip_norm": None}},
    ],
)
def test_option_of_model_or_training_that_changes_something_is_accepted(written: dict[str, Any]) -> None:
    assert resolve({"norm": {"method": "none"}, **READER, **written})
