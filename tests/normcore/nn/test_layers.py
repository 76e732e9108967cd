"""Layers equal those of torch without a norm, and our own networks with one."""

import copy
import itertools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from normcore import norms
from normcore.nn import GRU, LSTM, RNN
from normcore.nn.layers import Layer
from normcore.norms.population import batch_norms
from normcore.recurrent import Recurrent
from normcore.recurrent.unroll import unroll
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm

LAYERS: dict[str, type[Layer]] = {"lstm": LSTM, "gru": GRU, "rnn": RNN}
TORCHS: dict[str, Any] = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
F, H, T, B = 3, 6, 7, 5
LENGTHS = torch.tensor([4, 7, 1, 6, 4])
FITTING = [(cell, tag) for cell in LAYERS for tag, method in METHODS.items() if method.fits(CELLS[cell])]


def inputs(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(cell: str, *, seed: int = 0, **options: Any) -> Layer:
    torch.manual_seed(seed)
    return LAYERS[cell](F, H, dtype=torch.float64, **options)


def parts(output: tuple[Any, Any]) -> list[Tensor]:
    """List y and the last states."""
    y, last = output
    return [y.data if isinstance(y, PackedSequence) else y, *(last if isinstance(last, tuple) else [last])]


def results(module: nn.Module, x: Any, hx: Any) -> list[Tensor]:
    """Run a pass; return its outputs, and the gradients of a loss in which all outputs differ."""
    outputs = parts(module(x, hx))
    loss = torch.stack([(inputs(*part.shape, seed=9) * part).sum() for part in outputs]).sum()
    return [*outputs, *torch.autograd.grad(loss, list(module.parameters()))]


@pytest.mark.parametrize("cell", LAYERS)
@pytest.mark.parametrize("form", ["time first", "batch first", "single", "packed", "sorted"])
def test_layer_without_a_norm_is_that_of_torch(cell: str, form: str) -> None:
    options: dict[str, Any] = {"num_layers": 2, "bidirectional": True, "batch_first": form == "batch first"}
    theirs = TORCHS[cell](F, H, **options).double()
    ours = layer(cell, **options)
    ours.load_state_dict(theirs.state_dict())
    x: Any = inputs(*{"batch first": (B, T, F), "single": (T, F)}.get(form, (T, B, F)))
    if form in ("packed", "sorted"):
        lengths = LENGTHS if form == "packed" else LENGTHS.sort(descending=True).values
        x = pack_padded_sequence(x, lengths, enforce_sorted=form == "sorted")
    states = [inputs(4, *(() if form == "single" else (B,)), H, seed=k) for k in (2, 3)]
    for hx in (None, tuple(states) if cell == "lstm" else states[0]):
        for found, expected in zip(results(ours, x, hx), results(theirs, x, hx), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)
    found, expected = ours(x)[0], theirs(x)[0]
    if isinstance(expected, PackedSequence):
        for mine, their in zip(found[1:], expected[1:], strict=True):
            assert (mine is None) == (their is None)
            assert mine is None or their is None or torch.equal(mine, their)
    assert ours.state_dict().keys() == theirs.state_dict().keys()


@pytest.mark.parametrize("cell", LAYERS)
def test_fused_layer_equals_the_reference(cell: str) -> None:
    x = inputs(T, B, F).float()
    places = [{"method": "layer_norm", "bias": place} for place in ("outside", "inside", "both")]
    for norm in ("none", *places, "recurrent_batch_norm"):
        fused, reference = (layer(cell, norm=norm, kernel=kernel).float() for kernel in ("auto", "reference"))
        assert fused._unroll is not unroll
        for found, expected in zip(results(fused, x, None), results(reference, x, None), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("cell", "method"), FITTING)
def test_every_method_normalizes_as_in_a_network_of_ours(cell: str, method: str) -> None:
    """The network has one bias, which is the sum of both biases except inside of the GRU's reset gate."""
    ours = layer(cell, norm=method, num_layers=2)
    network = Recurrent(ours.options, F, ours.norm).double()
    own = dict(network.named_parameters())
    with torch.no_grad():
        for k, suffix in enumerate(ours.suffixes):
            if cell == "gru":
                ours.get_parameter(f"bias_hh{suffix}").zero_()
            for name, parameter in ours.named_parameters():
                if suffix in name and not name.startswith("bias"):
                    own[f"cells.{k}.{name.replace(suffix, '')}"].copy_(parameter)
            bias = ours.get_parameter(f"bias_ih{suffix}") + ours.get_parameter(f"bias_hh{suffix}")
            own[f"cells.{k}.bias"].copy_(bias)
    x = inputs(T, B, F)
    y, last = parts(ours(x))[:2]
    expected, state = network(x)
    torch.testing.assert_close(y, expected, rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(last, torch.stack([end.h for end in state.cells]), rtol=1e-11, atol=1e-12)
    plain = layer(cell, num_layers=2)
    plain.load_state_dict(ours.state_dict(), strict=False)
    if method not in ("none", "weight_norm"):
        assert not torch.allclose(plain(x)[0], y)
    torch.autograd.backward(y.sum())
    assert all(p.grad is not None for p in ours.parameters())


@pytest.mark.parametrize(("cell", "method"), FITTING)
def test_layer_in_bfloat16_is_near_the_one_in_float32(cell: str, method: str) -> None:
    wide, narrow = (layer(cell, norm=method, kernel="reference").to(d) for d in (torch.float32, torch.bfloat16))
    x = inputs(T, B, F).bfloat16()
    found, expected = narrow(x)[0], wide(x.float())[0]
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, rtol=0.1, atol=0.1)
    found.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.bfloat16 for p in narrow.parameters())


def test_weight_norm_parametrizes_the_weights_of_the_layer() -> None:
    module = layer("lstm", norm="weight_norm")
    gains = module.parametrizations["weight_hh_l0"].original0  # type: ignore[index,union-attr]
    before = module(inputs(T, B, F))[0]
    with torch.no_grad():
        gains.mul_(2)
    assert not torch.allclose(module(inputs(T, B, F))[0], before)


def test_second_bias_of_the_gru_stands_inside_of_the_reset_gate_with_a_norm_too() -> None:
    module = layer("gru", norm="layer_norm")
    x = inputs(T, B, F)
    moved = copy.deepcopy(module)
    with torch.no_grad():
        moved.get_parameter("bias_hh_l0")[2 * H :] += 1
        moved.get_parameter("bias_ih_l0")[2 * H :] -= 1
    assert not torch.allclose(moved(x)[0], module(x)[0])
    fused, reference = (
        copy.deepcopy(moved).float(),
        layer("gru", norm="layer_norm", kernel="reference").float(),
    )
    reference.load_state_dict(fused.state_dict())
    torch.testing.assert_close(fused(x.float())[0], reference(x.float())[0], rtol=1e-5, atol=1e-6)


def test_running_statistics_begin_standard_and_move_in_training_only() -> None:
    module = layer("lstm", norm={"method": "recurrent_batch_norm", "momentum": 0.5, "max_steps": 4})
    fresh = copy.deepcopy(module.state_dict())
    assert fresh["norm_x_l0.running_mean"].shape == (4, 4 * H)
    assert not fresh["norm_x_l0.running_mean"].any()
    assert (fresh["norm_x_l0.running_var"] == 1).all()
    x = inputs(T, B, F)
    module.eval()(x)
    assert all(torch.equal(part, fresh[name]) for name, part in module.state_dict().items())
    module.train()(x)
    terms = x[:4] @ module.get_parameter("weight_ih_l0").T  # (4, B, 4 H)
    torch.testing.assert_close(module.state_dict()["norm_x_l0.running_mean"], terms.mean(1) / 2)
    torch.testing.assert_close(module.state_dict()["norm_x_l0.running_var"], (1 + terms.var(1, unbiased=False)) / 2)


@pytest.mark.parametrize("method", ["sequence_batch_norm", "recurrent_batch_norm"])
def test_running_statistics_come_to_those_of_training(method: str) -> None:
    module, x = layer("lstm", norm=method), inputs(T, 64, F)
    with torch.no_grad():
        first = module.eval()(x)[0]
        for _ in range(200):
            trained = module.train()(x)[0]
        off = [(y - trained).abs().max() for y in (first, module.eval()(x)[0])]
    assert off[1] < 1e-6 < 1e-2 < off[0]


def test_without_tracked_statistics_evaluation_normalizes_by_the_batch() -> None:
    module = layer("gru", norm={"method": "recurrent_batch_norm", "track_running_stats": False})
    x = inputs(T, B, F)
    torch.testing.assert_close(module.eval()(x)[0], module.train()(x)[0])
    with pytest.raises(ValueError, match="no statistics of a population"):
        module.calibrate([x])


def test_calibrate_averages_over_batches_and_leaves_the_mode_and_earlier_statistics_after_an_error() -> None:
    module = layer("rnn", norm="recurrent_batch_norm", num_layers=2, bidirectional=True)
    x = inputs(T, B, F)
    module.calibrate([x])
    assert module.training
    torch.testing.assert_close(module.eval()(x)[0], module.train()(x)[0], rtol=1e-9, atol=1e-9)
    module.calibrate(
        itertools.chain([x], [pack_padded_sequence(inputs(T, B, F, seed=5), LENGTHS, enforce_sorted=False)])
    )
    before = copy.deepcopy(module.state_dict())
    with pytest.raises(RuntimeError, match="must be equal to input_size"):
        module.calibrate([x, inputs(T, B, F + 1)])
    assert module.training
    assert all(torch.equal(part, before[name]) for name, part in module.state_dict().items())


@pytest.mark.parametrize("cell", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_sequences_that_have_ended_take_no_part_in_statistics(cell: str, bidirectional: bool) -> None:
    """Statistics of each stretch are those of the batch of its sequences alone."""
    module = layer(cell, norm={"method": "recurrent_batch_norm", "momentum": 1.0}, bidirectional=bidirectional)
    lengths, x = torch.tensor([6, 4, 4]), inputs(6, 3, F)
    x[4:, 1:] = 1e9
    y, last = parts(module(pack_padded_sequence(x, lengths)))[:2]
    statistics = copy.deepcopy(module.state_dict())
    padded, _ = pad_packed_sequence(PackedSequence(y, torch.tensor([3, 3, 3, 3, 1, 1])))
    whole = layer(cell, norm={"method": "recurrent_batch_norm", "momentum": 1.0})
    whole.load_state_dict(module.state_dict(), strict=False)
    torch.testing.assert_close(padded[:4, :, :H], whole(x[:4])[0])
    torch.testing.assert_close(last[0, 1:], padded[3, 1:, :H])
    torch.testing.assert_close(last[0, 0], padded[5, 0, :H])
    for name, expected in whole.state_dict().items():
        torch.testing.assert_close(statistics[name], expected)


def test_statistics_of_later_stretches_are_those_of_their_steps() -> None:
    module = layer("lstm", norm={"method": "recurrent_batch_norm", "momentum": 1.0})
    x = inputs(6, 3, F)
    module(pack_padded_sequence(x, torch.tensor([6, 6, 4])))
    terms = x @ module.get_parameter("weight_ih_l0").T  # (6, 3, 4 H)
    expected = torch.cat([terms[:4].mean(1), terms[4:, :2].mean(1)])
    torch.testing.assert_close(module.get_buffer("norm_x_l0.running_mean"), expected)


@pytest.mark.parametrize("cell", LAYERS)
def test_gradient_of_the_inputs_is_there_if_all_weights_are_frozen(cell: str) -> None:
    grads: list[Tensor] = []
    for kernel in ("auto", "reference"):
        module = layer(cell, norm="layer_norm", kernel=kernel).float().requires_grad_(False)
        x = inputs(T, B, F).float().requires_grad_()
        grads += torch.autograd.grad(module(x)[0].square().sum(), x)
    assert grads[0].any()
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-4, atol=1e-5)


def test_forget_bias_is_added_to_the_bias_of_the_forget_gate() -> None:
    biases = LSTM(F, 64, forget_bias=3.0).get_parameter("bias_ih_l0").chunk(4)
    assert [round(gate.mean().item()) for gate in biases] == [0, 3, 0, 0]


def test_noise_on_the_first_state_is_drawn_in_training_only() -> None:
    module = layer("gru", norm={"method": "recurrent_batch_norm", "initial_state_noise": 0.1})
    x = inputs(T, B, F)
    assert not torch.equal(module(x)[0], module(x)[0])
    module.eval()
    assert torch.equal(module(x)[0], module(x)[0])


def test_packed_sequences_of_a_normalized_layer_do_not_see_each_other() -> None:
    module = layer("lstm", norm="layer_norm", num_layers=2, bidirectional=True)
    x = inputs(T, B, F)
    y, (h, _) = module(pack_padded_sequence(x, LENGTHS, enforce_sorted=False))
    padded, _ = pad_packed_sequence(y)
    for k, length in enumerate(LENGTHS.tolist()):
        alone, (last, _) = module(x[:length, k])
        torch.testing.assert_close(padded[:length, k], alone)
        torch.testing.assert_close(h[:, k], last)


@pytest.mark.parametrize("norm", ["none", "layer_norm", "recurrent_batch_norm", "weight_norm"])
def test_copies_are_layers_of_their_own(norm: str) -> None:
    module = layer("lstm", norm=norm, first_state="trained")
    x = inputs(T, B, F)
    module(x)
    again = layer("lstm", norm=norm, first_state="trained", seed=1)
    again.load_state_dict(module.state_dict())
    copies = [again]
    if norm != "weight_norm":  # torch cannot pickle parametrized modules
        copies += [copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    for mode in (True, False):
        expected = module.train(mode)(x)[0]
        assert all(torch.equal(made.train(mode)(x)[0], expected) for made in copies)


def test_compiled_layer_is_one_graph_of_our_operator() -> None:
    graphs: list[Any] = []

    def keep(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    module = layer("lstm", norm="layer_norm").float()
    x = inputs(T, B, F).float()
    compiled: Any = torch.compile(module, fullgraph=True, backend=keep)
    assert torch.equal(compiled(x)[0], module(x)[0])
    [graph] = graphs
    assert [node.target for node in graph.graph.nodes if "normbench" in str(node.target)] == [
        torch.ops.normbench.recurrence.default
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "layer_nrom"}, r"norm: .*layer_nrom.*layer_norm"),
        ({"norm": {"method": ["layer_norm"]}}, r"norm: .*layer_norm"),
        ({"norm": {"eps": 1e-5}}, r"norm: it is required"),
        ({"norm": {"method": "layer_norm", "epsilon": 1e-5}}, r"norm\.epsilon"),
        ({"norm": {"method": "layer_norm", "sites": ["attention"]}}, r"norm\.sites"),
        ({"norm": "query_key_norm"}, r"norm\.method: query_key_norm has no place in lstm"),
        (
            {"norm": {"method": "weight_norm", "init": "data"}},
            r"norm\.init: .*use weights",
        ),
        ({"norm": {"method": "recurrent_batch_norm", "max_steps": 0}}, "max_steps"),
        ({"norm": {"method": "recurrent_batch_norm", "max_steps": 9, "statistics": "shared"}}, "remove max_steps"),
        ({"norm": {"method": "layer_norm", "max_steps": 9}}, "norm: layer_norm keeps no statistics"),
        ({"forget_bais": 1.0}, "forget_bais"),
        ({"identity_gates": ["z"]}, "identity_gates"),
        ({"kernel": "fats"}, "kernel: expected auto, fused, reference, received 'fats'"),
    ],
)
def test_argument_that_does_not_fit_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LSTM(F, H, **options)


def test_dropout_stands_between_layers_in_training() -> None:
    module = layer("gru", norm="layer_norm", num_layers=2, dropout=0.5)
    x = inputs(T, B, F)
    assert not torch.equal(module(x)[0], module(x)[0])
    assert torch.equal(module(x)[1][0], module(x)[1][0]), "the first layer drops nothing"
    assert torch.equal(module.eval()(x)[0], module(x)[0])


def test_layer_says_what_it_is() -> None:
    module = layer("lstm", norm="layer_norm", num_layers=2)
    assert repr(module).startswith("LSTM(\n  3, 6, num_layers=2, norm=layer_norm\n  (norm_x_l0): LayerNormalized()")
    assert norms.build(module.norm).bias == "outside"


@pytest.mark.parametrize(
    ("cell", "options"), [("lstm", {"norm": "recurrent_batch_norm"}), ("gru", {}), ("rnn", {"norm": "dynamic_tanh"})]
)
def test_layers_without_a_kernel_are_compiled_as_one_graph(cell: str, options: dict[str, Any]) -> None:
    torch._dynamo.reset()
    module = layer(cell, **options).double()
    x = inputs(T, B, F)
    module(x)
    module.eval()
    compiled: Any = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x)[0], module(x)[0], rtol=1e-12, atol=1e-13)


def test_layer_that_was_exported_without_gradients_can_be_trained() -> None:
    layer, x = GRU(3, 5, norm="layer_norm"), torch.randn(6, 4, 3)
    with torch.no_grad():
        exported = torch.export.export(layer, (x,)).module()
    for module in (layer, exported):
        module(x)[0].square().sum().backward()
    grads = {name: parameter.grad for name, parameter in exported.named_parameters()}
    for name, parameter in layer.named_parameters():
        assert torch.equal(grads[name], parameter.grad), name  # type: ignore[arg-type]


def test_exported_layer_is_loaded_by_a_process_that_imports_the_kernels(tmp_path: Path) -> None:
    layer, x = LSTM(3, 5, norm="layer_norm"), torch.randn(6, 4, 3)
    exported, run = tmp_path / "layer.pt2", tmp_path / "pass.pt"
    with torch.no_grad():
        torch.export.save(torch.export.export(layer, (x,)), exported)
        torch.save((x, layer(x)[0]), run)
    code = """
import sys
import torch
import normcore.kernels
exported, run = sys.argv[1:]
x, y = torch.load(run)
assert torch.equal(torch.export.load(exported).module()(x)[0], y)
"""
    subprocess.run([sys.executable, "-c", code, exported, run], check=True)


def test_gradient_through_running_statistics_is_refused_if_they_were_exported_without_gradients() -> None:
    layer, x = LSTM(3, 5, norm="recurrent_batch_norm"), torch.randn(6, 4, 3)
    layer(x)
    with torch.no_grad():
        exported = torch.export.export(layer.eval(), (x,)).module()
    y, _ = exported(x)
    with pytest.raises(RuntimeError, match="no gradients through running statistics"):
        y.sum().backward()


def test_layer_that_was_saved_chooses_the_kernel_of_the_machine_that_loads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = layer("lstm", norm="layer_norm").float()
    saved = pickle.dumps(module)
    assert b"unroll" not in saved
    monkeypatch.setattr("normcore.kernels.choose", lambda *_: ("reference", unroll))
    assert pickle.loads(saved)._unroll is unroll
    assert copy.deepcopy(module)._unroll is unroll


def test_kernel_can_be_changed() -> None:
    fused = LSTM(3, 5, norm="layer_norm")
    fused.kernel = "reference"
    assert fused._unroll is unroll
    assert copy.deepcopy(fused).double().kernel == "reference"
    fused.kernel = "fused"
    assert fused._unroll is not unroll
    with pytest.raises(ValueError, match=r"kernel: expected auto, fused, reference, received 'cuda'"):
        fused.kernel = "cuda"
    without = LSTM(3, 5, norm="dynamic_tanh")
    with pytest.raises(ValueError, match="use auto or reference"):
        without.kernel = "fused"
    assert without.kernel == "auto"


def test_weights_that_are_assigned_to_a_layer_on_meta_bring_its_kernel() -> None:
    weights = layer("lstm", norm="layer_norm").float()
    bare = LSTM(F, H, norm="layer_norm", device="meta")
    assert bare._unroll is unroll
    bare.load_state_dict(weights.state_dict(), assign=True)
    assert bare._unroll is weights._unroll is not unroll
    copied = pickle.loads(pickle.dumps(copy.deepcopy(bare)))
    copied.load_state_dict({name: part.double() for name, part in weights.state_dict().items()}, assign=True)
    assert copied._unroll is unroll


@pytest.mark.parametrize("norm", [RecurrentBatchNorm(), {"method": "recurrent_batch_norm"}], ids=["method", "mapping"])
def test_batch_norm_keeps_running_averages_however_it_is_given(norm: Any) -> None:
    module = layer("lstm", norm=norm)
    x = inputs(T, 50, F)
    for _ in range(100):
        trained, _ = module(x)
    torch.testing.assert_close(module.eval()(x)[0], trained, rtol=0, atol=1e-4)


def test_batch_norm_with_the_papers_pass_needs_calibration() -> None:
    module = layer("lstm", norm=RecurrentBatchNorm(population="pass"))
    x = inputs(T, 50, F)
    trained, _ = module(x)
    with pytest.raises(ValueError, match=r"calibrate\(batches\)"):
        module.eval()(x)
    module.calibrate([x])
    assert not module.training
    torch.testing.assert_close(module(x)[0], trained)


@pytest.mark.parametrize("max_steps", [None, T])
def test_batch_norm_with_the_papers_pass_reads_packed_sequences_of_which_one_is_longest(max_steps: int | None) -> None:
    module = layer("lstm", norm={"method": "recurrent_batch_norm", "population": "pass", "max_steps": max_steps})
    packed = pack_padded_sequence(inputs(T, B, F), torch.tensor([T, *[T - 2] * (B - 1)]))
    module(packed)
    with pytest.raises(ValueError, match="population statistics"):
        module.eval()(inputs(T, B, F))
    module.calibrate([packed])
    assert module(packed)[0].data.isfinite().all()


def test_calibrate_keeps_the_shapes_of_max_steps_and_the_norms_as_they_were() -> None:
    module = layer("lstm", norm={"method": "recurrent_batch_norm", "max_steps": T + 3})
    before = {name: part.shape for name, part in module.state_dict().items()}
    packed = pack_padded_sequence(inputs(T, B, F), torch.tensor([T, *[T - 1] * (B - 1)]))  # one reaches the last step
    module.calibrate([packed])
    assert {name: part.shape for name, part in module.state_dict().items()} == before
    for norm in batch_norms(module).values():
        assert norm.collecting is None
        assert torch.equal(norm.running_mean[T - 1 :], norm.running_mean[T - 2 : T - 1].expand(4, -1))
    long = inputs(T + 3, B, F)
    assert module.eval()(long)[0].isfinite().all()


def test_calibrate_counts_each_packed_batch() -> None:
    lengths = torch.tensor([T, *[T - 2] * (B - 1)])
    batches = [pack_padded_sequence(inputs(T, B, F, seed=seed), lengths) for seed in (1, 2)]
    module = layer("lstm", norm={"method": "recurrent_batch_norm", "sites": ["input"]})
    [norm] = batch_norms(module).values()
    alone = []
    for batch in batches:
        module.calibrate([batch])
        alone.append(norm.running_mean)
    module.calibrate(batches)
    torch.testing.assert_close(norm.running_mean, (alone[0] + alone[1]) / 2)
