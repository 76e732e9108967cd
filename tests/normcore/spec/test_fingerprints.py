"""A fingerprint covers everything that decides a result, and stays the same in all later versions.

Results with the same fingerprint share an entry of a leaderboard, and databases hold many of them. If a golden value
below changes, never replace it by the new value: that would split every board in two. Find the cause instead.

A new option must change nothing by default, because options at their default are not hashed. For the same reason a
default must never change alone; ``DEFAULTS`` lists all defaults. Another default, meaning or name of an option needs a
new ``SPEC_VERSION`` with a step in ``UPGRADES``, which keeps the meaning of stored specs. Only then change ``DEFAULTS``
and the golden values of specs that rely on it. Add new golden values at the end.
"""

import json
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

import pytest
from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from normcore.spec import digest, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.models import MODELS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.part import Part
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.training import LinearDecay, Training

RUN = "run_" + "0" * 26
GOLDEN: list[tuple[str, dict[str, Any], str]] = [
    (
        "permuted_digits",
        {"task": {"name": "permuted_digits"}},
        "a1554dc9aa6105811915d6fcd1c5fdf01bc2a221cf30658c35dd8aba0ec7bd42",
    ),
    (
        "permuted_digits, gru, layer_norm",
        {
            "task": {"name": "permuted_digits"},
            "model": {"cell": "gru", "hidden_size": 64, "num_layers": 2},
            "norm": {"method": "layer_norm", "scope": "per_gate"},
        },
        "5f979c5ec410c5c8e64341b76a3a5c0dfc2641d9d72b4292ca7099658d53917c",
    ),
    (
        "sequential_digits, recurrent_batch_norm",
        {
            "task": {"name": "sequential_digits", "profile": "paper"},
            "norm": {"method": "recurrent_batch_norm", "gain_init": 0.5},
        },
        "67b28cbe249f50e14f1eb275ffcc9ebf008fc487bebb1e9d4aeed03db0173367",
    ),
    (
        "sequential_digits, rnn",
        {
            "task": {"name": "sequential_digits", "profile": "smoke"},
            "model": {
                "cell": "rnn",
                "bidirectional": True,
                "hidden_size": 16,
            },  # as in the profile when this spec was stored
            "norm": {"method": "rms_norm", "sites": ["input"]},
        },
        "236a23534cefbeb86b5bba2e8aff57a0e60b599c7f80a12a91d8bdd54b3ac946",
    ),
    (
        "permuted_mnist, paper",
        {
            "task": {"name": "permuted_mnist", "profile": "paper", "legacy_index_map": True},
            "norm": {"method": "recurrent_batch_norm"},
        },
        "06aaabe97566c2056302b6c7d2130bb1f347fa2832ad694f35918607d88bff91",
    ),
    (
        "sequential_mnist, layer_norm",
        {"task": {"name": "sequential_mnist"}, "norm": {"method": "layer_norm"}},
        "537a785520b19402b1d010a2886f7df0f37e3b1cd7fb8e892eb54120e58b48aa",
    ),
    (
        "char_lm, paper",
        {"task": {"name": "char_lm", "profile": "paper"}, "norm": {"method": "recurrent_batch_norm"}},
        "5a561a675022ed4a08719061b6ae02b41a378f90377ecd26fbdf706b9beb81f0",
    ),
    (
        "char_lm, weight_norm",
        {
            "task": {"name": "char_lm", "sequence_length": 30, "test_chars": None},
            "norm": {"method": "weight_norm", "mean_only_batch_norm": True},
            "training": {"precision": "bfloat16"},
        },
        "676f0cd94d06b9734fef223c97c458b8847242ae28450195d8f9ba0d78975b1d",
    ),
    (
        "feedforward, paper, batch of 4",
        {
            "task": {"name": "feedforward", "profile": "paper"},
            "norm": {"method": "batch_norm", "variance": "unbiased"},
            "training": {"batch_size": 4, "max_steps": 825000},
        },
        "5232e1a27f9e475e17ced4f50e92616d1cfef4406456b0e58daf09613cf64b8e",
    ),
    (
        "feedforward, layer_norm",
        {
            "task": {"name": "feedforward", "profile": "smoke"},
            "model": {"hidden_sizes": [20]},
            "norm": {"method": "layer_norm"},
        },
        "71d2e32bf9e3c101671e3ee8f7f43f7d1b4cd227db36b80b210cc9dbfd9fb1c5",
    ),
    (
        "convnet, paper",
        {"task": {"name": "convnet", "profile": "paper"}, "norm": {"method": "batch_norm"}},
        "5c9fa14fb041947bafa8c4dfa69c1d655b47554c9a58a5722cea1e2c62dae2d4",
    ),
    (
        "convnet, group_norm",
        {
            "task": {"name": "convnet", "profile": "smoke"},
            "norm": {"method": "group_norm"},
            "training": {"clip_norm": 1.0, "clip": "per_tensor", "optimizer": {"name": "toronto_adam"}},
        },
        "a86defda5885894a5b1ced2721a73fb8024451a19bd9ac208d1fffabc262bc94",
    ),
    (
        "gradient_flow",
        {"task": {"name": "gradient_flow"}, "norm": {"method": "recurrent_batch_norm"}},
        "543148260d0310ad56ff2588c53b13c4851cd696304e33d69df7403c4bb657b2",
    ),
    (
        "hidden_dynamics",
        {"task": {"name": "hidden_dynamics", "weight_scales": [1.0]}, "norm": {"method": "layer_norm"}},
        "60ea04d351f80790396db01c690fa95083f63e4f57371462ce5e9077a7452b17",
    ),
    (
        "invariances",
        {"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}},
        "974057e577331923c498b3d5f7de1d3df2cdf74888d872158310dfd7de6d1aa8",
    ),
    (
        "fisher_geometry",
        {"task": {"name": "fisher_geometry"}},
        "88bf0c718bbd806753b5154010350f5c508c7b06a4c3f45943fe612aff4518a2",
    ),
    (
        "smallest_batch",
        {"task": {"name": "smallest_batch"}, "norm": {"method": "dynamic_tanh"}},
        "445d49b9c3e5690166127346ce9f35322150066b07f85fa7f334d9bcdcff91e6",
    ),
    (
        "step_cost",
        {"task": {"name": "step_cost"}, "norm": {"method": "sequence_batch_norm"}},
        "b038501e1ae2b2fc481eb7a18b028258260f3469ebc7d9f59aee8a3db865e4ca",
    ),
    (
        "population_statistics",
        {"task": {"name": "population_statistics", "run": RUN}},
        "e1b48f84cd17e0f1c722121002d9e3c2ebec0417f47dd82c23b980e4c445b51b",
    ),
    (
        "length_generalization",
        {"task": {"name": "length_generalization", "run": RUN, "lengths": [50]}},
        "fcb5d846c16aaa4f44f5eabecb34554a36f066d3d5b608d9779e014fc6117649",
    ),
    (
        "draw, layer_norm",
        {"task": {"name": "draw"}, "norm": {"method": "layer_norm"}},
        "e1b0b833679e4ace9d22146ec5cd916519904160e4c5cf7c0266c125f3c401c7",
    ),
    (
        "draw, paper",
        {"task": {"name": "draw", "profile": "paper"}, "model": {"glimpses": 32}, "norm": {"method": "none"}},
        "fbcffc9c021ecdbbc6c6dffff40ae7b50dec5a66868a16aa85481e413f90519c",
    ),
    (
        "permuted_digits, a state of zeros",
        {
            "task": {"name": "permuted_digits"},
            "model": {
                "recurrent_init": "orthogonal_blocks",
                "first_state": "zeros",
                "first_cell": "zeros",
                "cell_bias": False,
            },
            "norm": {"method": "none"},
            "training": {"clip": "global_root"},
        },
        "2c7dbb6b4d6598adedba381a14139606f9712d58881fa4db5e0d168b30aba473",
    ),
    (
        "attentive_reader, paper",
        {"task": {"name": "attentive_reader", "profile": "paper"}, "norm": {"method": "layer_norm"}},
        "3750c6290f838af132cb1b67e6de4544bd3ed4e849c6d0005c33fe5025a327ff",
    ),
    (
        "attentive_reader, BN-e**",
        {
            "task": {"name": "attentive_reader", "profile": "paper", "passage": "full"},
            "model": {"bidirectional": True, "padding": "cyclic"},
            "norm": {
                "method": "recurrent_batch_norm",
                "sites": ["input", "recurrent", "cell", "layer"],
                "input_statistics": "sequence",
            },
            "training": {"batch_size": 40},
        },
        "b69a2986a6c919431946c6a1b75530ee93121000eb91aa7b13592da2acff79c3",
    ),
    (
        "handwriting, paper",
        {"task": {"name": "handwriting", "profile": "paper"}, "norm": {"method": "layer_norm"}},
        "c0f8fadae8a460cc76ceb045be5f192494fa83169c91e0455cb8209f1859f89d",
    ),
    (
        "order_embedding, paper",
        {"task": {"name": "order_embedding", "profile": "paper"}, "norm": {"method": "layer_norm"}},
        "3112bac19394a4560d2bb6551533809777f31dbad24a7ffd420905de1996e0f3",
    ),
    (
        "skip_thoughts, paper",
        {"task": {"name": "skip_thoughts", "profile": "paper"}, "norm": {"method": "layer_norm"}},
        "4493b00c4bbdfd73fe4000f43b35ea4a3b0833b04459b6617d6a02bd05452817",
    ),
]


DEFAULTS: dict[str, dict[str, Any]] = {
    "attentive_reader": {
        "name": "attentive_reader",
        "profile": "small",
        "dataset": "cnn",
        "examples": None,
        "vocabulary": None,
        "passage": "four_sentences",
    },
    "order_embedding": {
        "name": "order_embedding",
        "profile": "small",
        "dataset": "coco_karpathy",
        "folds": 5,
        "valid_images": 1000,
    },
    "skip_thoughts": {
        "name": "skip_thoughts",
        "profile": "small",
        "dataset": "bookcorpus",
        "vocabulary": 20_000,
        "examples": None,
        "word_vectors": True,
    },
    "draw": {"name": "draw", "profile": "small", "dataset": "binarized_mnist", "examples": None},
    "handwriting": {
        "name": "handwriting",
        "profile": "small",
        "dataset": "iam_ondb",
        "points": 500,
        "examples": None,
        "text": "layers that are normalized",
    },
    "char_lm": {
        "name": "char_lm",
        "profile": "small",
        "corpus": "pydoc",
        "file": None,
        "sha256": None,
        "sequence_length": 100,
        "valid_chars": None,
        "test_chars": None,
    },
    "feedforward": {"name": "feedforward", "profile": "small", "dataset": "mnist"},
    "convnet": {"name": "convnet", "profile": "small", "dataset": "cifar10", "whitening": False},
    "sequential_mnist": {"name": "sequential_mnist", "profile": "small", "examples": None},
    "permuted_mnist": {
        "name": "permuted_mnist",
        "profile": "small",
        "examples": None,
        "permutation_seed": 0,
        "legacy_index_map": False,
    },
    "sequential_digits": {"name": "sequential_digits", "profile": "small", "examples": None},
    "permuted_digits": {
        "name": "permuted_digits",
        "profile": "small",
        "examples": None,
        "permutation_seed": 0,
        "legacy_index_map": False,
    },
    "fisher_geometry": {"name": "fisher_geometry", "profile": "small"},
    "gradient_flow": {"name": "gradient_flow", "profile": "small", "images": "digits", "cases": 100, "gains": ()},
    "hidden_dynamics": {"name": "hidden_dynamics", "profile": "small", "weight_scales": (0.5, 1.0, 1.5, 2.0)},
    "invariances": {"name": "invariances", "profile": "small"},
    "length_generalization": {"name": "length_generalization", "profile": "small", "lengths": (100, 300, 500, 1000)},
    "population_statistics": {"name": "population_statistics", "profile": "small"},
    "smallest_batch": {"name": "smallest_batch", "profile": "small", "updates": 600},
    "step_cost": {"name": "step_cost", "profile": "small", "num_steps": 64, "batch_size": 64},
    "batch_norm": {"method": "batch_norm", "sites": ("layer",), "gain_init": 1.0, "eps": 1e-05, "variance": "biased"},
    "batch_renorm": {
        "method": "batch_renorm",
        "sites": ("layer",),
        "gain_init": 1.0,
        "eps": 1e-05,
        "r_max": 3.0,
        "d_max": 5.0,
        "momentum": 0.01,
    },
    "dynamic_tanh": {
        "method": "dynamic_tanh",
        "sites": ("input", "recurrent", "cell"),
        "alpha_init": 0.5,
        "gain_init": 1.0,
    },
    "group_norm": {"method": "group_norm", "sites": ("layer",), "gain_init": 1.0, "eps": 1e-05, "groups": 32},
    "instance_norm": {"method": "instance_norm", "sites": ("layer",), "gain_init": 1.0, "eps": 1e-05},
    "layer_norm": {
        "method": "layer_norm",
        "sites": ("input", "recurrent", "cell"),
        "gain_init": 1.0,
        "eps": 1e-05,
        "affine": True,
        "scope": "joint",
        "conv_gain": "per_unit",
        "bias": "outside",
        "bias_init": 0.0,
    },
    "none": {"method": "none"},
    "query_key_norm": {"method": "query_key_norm", "length": 100, "eps": 1e-06},
    "recurrent_batch_norm": {
        "method": "recurrent_batch_norm",
        "sites": ("input", "recurrent", "cell"),
        "gain_init": 0.1,
        "eps": 1e-05,
        "carry": "raw",
        "statistics": "per_step",
        "input_statistics": "per_step",
        "population": "pass",
        "momentum": 0.1,
        "initial_state_noise": 0.0,
    },
    "rms_norm": {
        "method": "rms_norm",
        "sites": ("input", "recurrent", "cell"),
        "gain_init": 1.0,
        "eps": 1e-05,
        "bias_init": 0.0,
    },
    "sequence_batch_norm": {"method": "sequence_batch_norm", "gain_init": 1.0, "eps": 1e-05},
    "weight_norm": {"method": "weight_norm", "mean_only_batch_norm": False, "init": "weights"},
    "gru": {
        "cell": "gru",
        "hidden_size": 100,
        "num_layers": 1,
        "bidirectional": False,
        "recurrent_init": "orthogonal",
        "first_state": "trained",
        "identity_gates": ("n",),
    },
    "lstm": {
        "cell": "lstm",
        "hidden_size": 100,
        "num_layers": 1,
        "bidirectional": False,
        "recurrent_init": "orthogonal",
        "first_state": "trained",
        "forget_bias": 1.0,
        "identity_gates": ("g",),
        "first_cell": "trained",
        "cell_bias": True,
    },
    "rnn": {
        "cell": "rnn",
        "hidden_size": 100,
        "num_layers": 1,
        "bidirectional": False,
        "recurrent_init": "orthogonal",
        "first_state": "trained",
    },
    "adam": {"name": "adam", "lr": 0.001, "beta1": 0.9, "beta2": 0.999, "eps": 1e-08},
    "rmsprop": {"name": "rmsprop", "lr": 0.001, "decay": 0.9, "momentum": 0.0},
    "toronto_adam": {"name": "toronto_adam", "lr": 0.001, "beta1": 0.9, "beta2": 0.999, "eps": 1e-08},
    "model of conv_net": {
        "stage_channels": (96, 192),
        "stage_depth": 3,
        "head_channels": 192,
        "dropout": 0.5,
        "input_noise": 0.15,
    },
    "model of draw": {"hidden_size": 256, "latent_size": 100, "glimpses": 64, "read_size": 2, "write_size": 5},
    "model of handwriting": {"hidden_size": 400, "gaussians": 10, "components": 20, "advance": 1.0},
    "model of attentive_reader": {
        "hidden_size": 240,
        "embedding_size": 240,
        "bidirectional": False,
        "dropout": 0.5,
        "padding": "zeros",
        "readout": "scaled",
        "weights": "independent",
    },
    "model of order_embedding": {"hidden_size": 1024, "embedding_size": 300},
    "model of skip_thoughts": {"hidden_size": 2400, "embedding_size": 620},
    "model of feed_forward": {"hidden_sizes": (1000, 1000)},
    "training": {"schedule": None, "clip": "global", "precision": "float32", "kernel": "auto"},
    "linear_decay": {"name": "linear_decay", "beta1": None},
}
"""Defaults of the classes. Fingerprints leave out each field that is at its default."""


@pytest.mark.parametrize(("written", "fingerprint"), [g[1:] for g in GOLDEN], ids=[g[0] for g in GOLDEN])
def test_fingerprint_equals_its_golden_value(written: dict[str, Any], fingerprint: str) -> None:
    assert resolve(written).fingerprint() == fingerprint


def test_golden_values_differ_and_cover_every_task() -> None:
    assert len({fingerprint for _, _, fingerprint in GOLDEN}) == len(GOLDEN)
    missing = {*BENCHMARKS, *ANALYSES} - {written["task"]["name"] for _, written, _ in GOLDEN}
    assert not missing, "\n".join(["add to GOLDEN:", *map(golden_row, sorted(missing))])


def golden_row(task: str) -> str:
    written: dict[str, Any] = {"task": {"name": task}}
    return f'("{task}", {json.dumps(written)}, "{resolve(written).fingerprint()}"),'


def test_the_digest_is_of_sorted_json_without_white_space() -> None:
    """The shell gives the same: echo -n '{"a":0.001,"b":[1,"x"]}' | sha256sum"""
    expected = "1353066f3e252418e539a1268420db1a7d14a08c347938fb36861e72fe8db753"
    assert digest({"b": [1, "x"], "a": 1e-3}) == expected


def test_fingerprint_hashes_only_options_that_differ_from_the_defaults() -> None:
    """An example in full, by which anybody can compute a fingerprint."""
    spec = resolve({"task": {"name": "permuted_digits"}, "norm": {"method": "layer_norm", "eps": 1e-3}})
    hashed = {
        "task": {"name": "permuted_digits"},
        "model": {"cell": "lstm"},
        "norm": {"method": "layer_norm", "eps": 1e-3},
        "training": {
            "optimizer": {"name": "rmsprop", "lr": 2e-3},
            "batch_size": 64,
            "max_steps": 200,
            "clip_norm": 1.0,
            "eval_every": 20,
            "target": 0.5,
        },
    }
    assert spec.fingerprint() == digest(hashed)
    assert spec.fingerprint({"norm"}) == digest({name: part for name, part in hashed.items() if name != "norm"})


# -- defaults are neutral --------------------------------------------------------------------------


class WithOneMore(LayerNorm):
    """Layer norm of a later version, with an option that changes nothing by default."""

    temperature: float = Field(1.0, description="New.")
    schedule: LinearDecay | None = None


def test_an_option_at_its_default_is_left_out() -> None:
    assert LayerNorm().canonical() == {"method": "layer_norm"}
    assert LayerNorm(eps=1e-5, gain_init=1.0, affine=True).canonical() == {"method": "layer_norm"}
    assert LayerNorm(eps=1e-4).canonical() == {"method": "layer_norm", "eps": 1e-4}


def test_new_option_changes_the_fingerprint_only_when_it_is_used() -> None:
    for options in ({}, {"eps": 1e-4}, {"sites": ("sum",), "scope": "per_gate"}):
        before, after = LayerNorm.model_validate(options), WithOneMore.model_validate(options)
        assert after.canonical() == before.canonical()
        assert digest(after.canonical()) == digest(before.canonical())
    assert WithOneMore(temperature=2.0).canonical() == {"method": "layer_norm", "temperature": 2.0}
    assert WithOneMore(schedule=LinearDecay(start=3)).canonical() == {
        "method": "layer_norm",
        "schedule": {"name": "linear_decay", "start": 3},
    }


def test_whole_numbers_and_lists_have_the_type_of_their_field() -> None:
    """1 and 1.0 are the same gain, a list and a tuple are the same sites, so their fingerprints are equal."""
    ln = {"method": "layer_norm"}
    for one, other in (({"gain_init": 2}, {"gain_init": 2.0}), ({"sites": ["sum"]}, {"sites": ("sum",)})):
        specs = [resolve({"task": {"name": "permuted_digits"}, "norm": {**ln, **o}}) for o in (one, other)]
        assert specs[0].fingerprint() == specs[1].fingerprint()


# -- every option counts ---------------------------------------------------------------------------

REGISTRIES = (BENCHMARKS, ANALYSES, METHODS, CELLS, OPTIMIZERS)
REQUIRED: dict[str, Any] = {"run": RUN, "start": 5, "clip_norm": None, "target": None}
TRAINING = {"optimizer": {"name": "adam"}, "batch_size": 4, "max_steps": 8, "eval_every": 2, **REQUIRED}
PARTS: dict[str, type[Part]] = {
    **{tag: kind for registry in REGISTRIES for tag, kind in registry.items()},
    **{f"model of {tag}": kind for tag, kind in MODELS.items() if tag != "recurrent"},
    "training": Training,
    "linear_decay": LinearDecay,
}
OWN: dict[str, list[Any]] = {
    "run": ["run_" + "1" * 26],
    "optimizer": [{"name": "rmsprop"}, {"name": "adam", "lr": 0.5}],
    "schedule": [{"start": 1}],
    "file": ["a.txt"],
    "sha256": ["0" * 64],
    "text": ["another"],
    "valid_chars": [5000],
    "test_chars": [5000],
    "examples": [500],
    "sites": [["sum"], ["output"], ["layer", "output"], []],
}
"""Other values of fields that a general rule does not find."""
TOGETHER: dict[str, dict[str, Any]] = {
    "file": {"corpus": "file"},
    "sha256": {"corpus": "file", "file": "a.txt"},
}
"""Other fields that a value needs, if the part has these fields."""


def other_values(name: str, field: FieldInfo, value: Any) -> Iterator[Any]:
    """Values of a field other than ``value`` that may be allowed."""
    yield from OWN.get(name, [])
    for kind in _kinds(field.annotation):
        if get_origin(kind) is Literal:
            yield from get_args(kind)
        elif kind is bool:
            yield not value
        elif kind in (int, float):
            number = value if isinstance(value, int | float) else 1
            yield from (number + 1, number * 2, number / 2, 0.5, 0.25)
        elif get_origin(kind) is tuple:
            yield from ((*value, *value[:1]), value[:1], value[1:], tuple(reversed(value)), (3,), (0.7,))
            for inner in _kinds(get_args(kind)[0]):
                if get_origin(inner) is Literal:
                    yield from ((choice,) for choice in get_args(inner))


def _kinds(annotation: Any) -> Iterator[Any]:
    """Types in a union or in an annotated type."""
    if hasattr(annotation, "__metadata__"):
        yield from _kinds(get_args(annotation)[0])
    elif get_origin(annotation) is Union or type(annotation).__name__ == "UnionType":
        for part in get_args(annotation):
            yield from _kinds(part)
    else:
        yield annotation


def _is_tag(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def usual(kind: type[Part], **options: Any) -> Part:
    fields = kind.model_fields
    required = {name: TRAINING[name] for name in TRAINING if name in fields and fields[name].is_required()}
    return kind.model_validate({**required, **options})


OPTIONS = [
    (tag, name) for tag, kind in PARTS.items() for name, field in kind.model_fields.items() if not _is_tag(field)
]


@pytest.mark.parametrize(("tag", "name"), OPTIONS)
def test_every_other_value_of_an_option_changes_the_fingerprint(tag: str, name: str) -> None:
    kind = PARTS[tag]
    together = {other: value for other, value in TOGETHER.get(name, {}).items() if other in kind.model_fields}
    before = usual(kind, **together if name != "file" else {})
    tried = 0
    for value in other_values(name, kind.model_fields[name], getattr(before, name)):
        try:
            after = usual(kind, **together, **{name: value})
        except ValidationError:
            continue
        if getattr(after, name) != getattr(before, name):
            tried += 1
            assert digest(after.canonical()) != digest(before.canonical()), value
            assert usual(kind, **after.canonical()) == after, "what is left out is what the class has"
    assert tried, "there is no other value to try; add one to OWN"


@pytest.mark.parametrize("tag", PARTS)
def test_default_equals_its_golden_value(tag: str) -> None:
    """Another default would silently change the meaning of stored specs: their fingerprints would stay the same."""
    fields = PARTS[tag].model_fields
    now = {name: field.default for name, field in fields.items() if not field.is_required()}
    assert tag in DEFAULTS, f"stored specs rely on defaults; add to DEFAULTS: {tag!r}: {now}"
    known = DEFAULTS[tag]
    assert {name: now.get(name, "it is gone") for name in known} == known
    assert now.keys() <= known.keys(), "add the new option to DEFAULTS"


@pytest.mark.parametrize("tag", PARTS)
def test_tag_is_hashed_although_it_is_a_default(tag: str) -> None:
    kind = PARTS[tag]
    tags = {name: field.default for name, field in kind.model_fields.items() if _is_tag(field)}
    if not tags:
        assert tag == "training" or tag.startswith("model of ")  # a task has exactly one of these parts
    assert tags.items() <= usual(kind).canonical().items()


def test_class_variable_is_not_an_option() -> None:
    class RenamedLayerNorm(LayerNorm):
        title: ClassVar[str] = "Another title"

    assert RenamedLayerNorm().canonical() == LayerNorm().canonical()
