"""The attentive reader computes the equations of Hermann et al. 2015, normalized where RBN section 5.4 says."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from normcore.models.attentive_reader import AttentiveReader
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec.methods import METHODS
from normcore.spec.models.attentive_reader import AttentiveReaderModel
from tests.normcore.models.slopes import check_gradients

SMALL = AttentiveReaderModel(hidden_size=5, embedding_size=4, dropout=0)
WORDS = 9
CPU = torch.device("cpu")
SITES = ("input", "recurrent", "cell")
VARIANTS: Mapping[str, dict[str, Any]] = {
    "LSTM": {"method": "none"},
    "BN-LSTM": {"method": "recurrent_batch_norm"},
    "BN-everywhere": {"method": "recurrent_batch_norm", "sites": (*SITES, "layer")},
    "BN-e*": {"method": "recurrent_batch_norm", "sites": (*SITES, "layer"), "input_statistics": "sequence"},
    "LN-LSTM": {"method": "layer_norm"},  # the bias b both inside the input's norm and outside, as in LN's code
}
TEXTS = [torch.tensor([2, 5, 6, 3, 7]), torch.tensor([3, 8, 2]), torch.tensor([4, 4, 6, 5])]
QUESTIONS = [torch.tensor([6, 1]), torch.tensor([1, 7, 7]), torch.tensor([5, 1, 2, 8])]
each_variant = pytest.mark.parametrize("variant", VARIANTS)
Array = np.ndarray


def reader(variant: str = "LSTM", options: AttentiveReaderModel = SMALL, words: int = WORDS) -> AttentiveReader:
    written = VARIANTS[variant]
    kind = METHODS[written["method"]]
    norm = kind.model_validate({**kind.defaults(AttentiveReaderModel), **written})
    torch.manual_seed(0)
    return AttentiveReader(Build(options, norm, "reference", CPU, torch.float64), options, words)


def lively(variant: str, options: AttentiveReaderModel = SMALL) -> AttentiveReader:
    """Build a reader in float64 with weights that are far from 0."""
    model = reader(variant, options).double()
    random = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.data += 0.5 * torch.randn(parameter.shape, generator=random, dtype=torch.float64)
    return model


def words_of(sequences: list[Tensor] = TEXTS) -> Words:
    return Words.of(sequences, CPU)


def padded(words: Words, more: int) -> Words:
    return words._replace(codes=functional.pad(words.codes, (0, 0, 0, more), value=8))


# The computation of the model once more in numpy: T steps, B examples, H units.


def standardized(a: Array, axes: int | tuple[int, ...], eps: float, where: Any = True) -> Array:
    mean = a.mean(axes, keepdims=True, where=where)
    found: Array = (a - mean) / np.sqrt(((a - mean) ** 2).mean(axes, keepdims=True, where=where) + eps)
    return found


def norms_of(variant: str, p: Mapping[str, Array], there: Array) -> dict[str, Any]:
    """Norms by place: ``norm_x`` (T, B, 4H), ``norm_h`` and ``norm_c`` (B, ...), and ``layer`` (B, H) around the
    attention. ``bias`` is the place of the bias.
    """

    def affine(name: str, a: Array) -> Array:
        shifted: Array = a * p[f"{name}.weight"] + p.get(f"{name}.bias", 0)
        return shifted

    def nothing(name: str, a: Array) -> Array:
        shifted: Array = a + p.get(f"{name}.bias", 0)
        return shifted

    def over_units(name: str, a: Array) -> Array:
        return affine(name, standardized(a, -1, 1e-5))

    def over_batch(name: str, a: Array) -> Array:
        return affine(name, standardized(a, -2, 1e-5))

    def over_text(name: str, a: Array) -> Array:
        return affine(name, standardized(a, (0, 1), 1e-6, there[: len(a), :, None]))

    inside = {"LSTM": nothing, "LN-LSTM": over_units}.get(variant, over_batch)
    return {
        "norm_x": over_text if variant == "BN-e*" else inside,
        "norm_h": inside,
        "norm_c": inside,
        "bias": "both" if variant == "LN-LSTM" else "outside",
        "layer": over_batch if variant.startswith("BN-e") else lambda name, a: a,
    }


def sigmoid(a: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-a)))


def lstm(p: Mapping[str, Array], name: str, norms: Any, x: Array, there: Array) -> tuple[Array, Array]:
    """Compute the states (T, B, H) and the state at the end of each sequence. Padding repeats the last state."""
    inside = p[f"{name}.bias"] if norms["bias"] == "both" else 0
    term = norms["norm_x"](f"{name}.norm_x", x @ p[f"{name}.weight_ih"].T + inside) + p[f"{name}.bias"]
    h = np.repeat(p[f"{name}.h0"][None], x.shape[1], 0)
    c, states = np.zeros_like(h), []
    for t in range(len(x)):
        a = term[t] + norms["norm_h"](f"{name}.norm_h", h @ p[f"{name}.weight_hh"].T)
        i, f, g, o = np.split(a, 4, 1)
        new_c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        new_h = sigmoid(o) * np.tanh(norms["norm_c"](f"{name}.norm_c", new_c))
        h, c = (np.where(there[t][:, None], new, old) for new, old in ((new_h, h), (new_c, c)))
        states.append(h)
    return np.stack(states), h


def turned(x: Array, there: Array) -> Array:
    """Reverse each sequence, and leave the padding behind it."""
    found = x.copy()
    for b, length in enumerate(there.sum(0)):
        found[:length, b] = x[:length, b][::-1]
    return found


def logits(model: AttentiveReader, variant: str, text: Words, question: Words) -> Array:
    p = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    read = {}
    for name, words in (("text", text), ("question", question)):
        there = words.there.numpy()
        norms = norms_of(variant, p, there)
        x = p["embedding.weight"][words.codes.numpy()]
        states, end = lstm(p, f"{name}.cells.0", norms, x, there)
        if model.options.bidirectional:
            backwards, first = lstm(p, f"{name}.cells.1", norms, turned(x, there), there)
            states, end = np.concatenate([states, turned(backwards, there)], 2), np.concatenate([end, first], 1)
        read[name] = states, end
    (d, _), (_, u), there = read["text"], read["question"], text.there.numpy()

    def mapped(name: str, a: Array) -> Array:
        product = a @ p[f"{name}.weight"].T
        flat: Array = norms["layer"](f"norms.{name}", product.reshape(-1, product.shape[-1]))
        biased: Array = flat.reshape(product.shape) + p.get(f"{name}.bias", 0)
        return biased

    s = ((d @ p["similarity.weight"].T) * (u @ p["similarity.weight"].T)).sum(2)
    m = np.tanh(mapped("attend_text", d) + mapped("attend_question", u) + s[:, :, None])
    weights = np.where(there, np.exp((m @ p["weigh.weight"].T)[:, :, 0]), 0)
    alpha = weights / weights.sum(0)
    r = (alpha[:, :, None] * d).sum(0)
    mean = (there[:, :, None] * d).sum(0) / there.sum(0)[:, None]
    out = np.tanh(mapped("answer_read", r) + mapped("answer_question", u) + mapped("answer_mean", mean))
    answered: Array = out @ p["output.weight"].T + p["output.bias"]
    return answered


@pytest.mark.parametrize("bidirectional", [False, True], ids=["forward", "both_directions"])
@each_variant
def test_reader_computes_the_equations_of_the_papers(variant: str, bidirectional: bool) -> None:
    model = lively(variant, SMALL.model_copy(update={"bidirectional": bidirectional}))
    text, question = words_of(), words_of(QUESTIONS)
    with torch.no_grad():
        found = model(text, question).numpy()
    np.testing.assert_allclose(found, logits(model, variant, text, question), rtol=1e-9, atol=1e-11)


@each_variant
def test_gradients_agree_with_finite_differences(variant: str) -> None:
    model, answers = lively(variant), torch.tensor([2, 3, 5])

    def loss() -> Tensor:
        return functional.cross_entropy(model(words_of(), words_of(QUESTIONS)), answers)

    check_gradients(model, loss, 1e-4, 1e-7)


@pytest.mark.parametrize(
    ("variant", "more"),
    [
        ("LSTM", 0),
        ("LN-LSTM", 2 * (2 * 8 * 240 + 2 * 240)),  # gains and shifts of both terms and of the cell
        ("BN-everywhere", 2 * (2 * 4 * 240 + 2 * 240) + 5 * 2 * 240),  # the two terms have gains only
    ],
)
def test_number_of_parameters_equals_the_papers(variant: str, more: int) -> None:
    """The authors' code has two biases in each LSTM."""
    options = AttentiveReaderModel()
    with torch.device("meta"):
        parameters = sum(p.numel() for p in reader(variant, options, 65_830).parameters())
    assert parameters == 32_934_550 + more
    if variant == "LSTM":
        assert options.cost(65_830, 1, 1).parameters == parameters


def test_attention_sums_to_1_over_the_words_without_padding() -> None:
    model = lively("BN-everywhere")
    with torch.no_grad():
        alpha = model.attention(words_of(), words_of(QUESTIONS))
    assert alpha.shape == (5, 3)
    assert not alpha[~words_of().there].any()
    torch.testing.assert_close(alpha.sum(0), torch.ones(3, dtype=torch.float64))


@each_variant
def test_7_padding_changes_the_result_only_with_batch_norm_everywhere(variant: str) -> None:
    model = lively(variant)
    question = words_of(QUESTIONS)
    with torch.no_grad():
        without, with_padding = (model(text, question) for text in (words_of(), padded(words_of(), 3)))
    changed = (with_padding - without).abs().max().item()
    if variant in ("BN-everywhere", "BN-e*"):
        assert changed > 1e-3
    else:
        assert changed < 1e-12


@pytest.mark.parametrize(("variant", "sees"), [("BN-LSTM", True), ("BN-e*", False)])
def test_content_of_the_padding_changes_only_statistics_of_single_steps(variant: str, sees: bool) -> None:
    """The padding is zeros or the text again. Input statistics over all steps leave the padding out."""
    inputs = []
    for padding in ("zeros", "cyclic"):
        model = lively(variant, SMALL.model_copy(update={"padding": padding}))
        norm: Any = model.text.cells[0].norm_x
        norm.register_forward_hook(lambda _, given, out: inputs.append(out))
        with torch.no_grad():
            model(words_of(), words_of(QUESTIONS))
    there = words_of().there
    assert torch.allclose(inputs[0][there], inputs[1][there], rtol=1e-12) is not sees


def test_initial_weights_are_orthogonal_or_uniform_and_biases_are_0() -> None:
    """Square blocks are 0.05 times an orthogonal matrix, other blocks are uniform. All biases are 0."""
    model: Any = reader(options=AttentiveReaderModel(hidden_size=20, embedding_size=12, dropout=0), words=50)
    squares = [model.similarity.weight, *model.text.cells[0].weight_hh.chunk(4)]
    for square in squares:
        torch.testing.assert_close(square @ square.T, 0.0025 * torch.eye(20), rtol=0, atol=1e-6)
    for block in (model.embedding.weight, *model.question.cells[0].weight_ih.chunk(4), model.output.weight):
        bound = (6 / (sum(block.shape) + 1)) ** 0.5
        assert 0.9 * bound < block.abs().max() <= bound
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
    assert not torch.equal(*squares[1:3])


def test_repeated_weights_are_equal_for_equal_shapes() -> None:
    options = AttentiveReaderModel(hidden_size=6, embedding_size=4, weights="repeated")
    model: Any = reader(options=options)
    first = model.similarity.weight
    for block in (model.answer_mean.weight, *model.text.cells[0].weight_hh.chunk(4)):
        assert torch.equal(block, first)
    gates = model.text.cells[0].weight_ih.chunk(4)
    assert all(torch.equal(gate, gates[0]) for gate in (*gates, *model.question.cells[0].weight_ih.chunk(4)))
    assert not torch.equal(model.output.weight.flatten()[:6], first.flatten()[:6])


def test_repeated_weights_of_words_and_of_the_readout_differ() -> None:
    """One matrix is V x H and the other is H x V."""
    options = AttentiveReaderModel(hidden_size=6, embedding_size=6, weights="repeated")
    model: Any = reader(options=options)
    assert model.output.weight.shape == model.embedding.weight.shape
    assert not torch.equal(model.output.weight, model.embedding.weight)


def test_biases_of_the_attention_have_gradients_beside_batch_norm() -> None:
    model: Any = lively("BN-everywhere")
    model(words_of(), words_of(QUESTIONS)).square().sum().backward()
    for linear in (model.attend_question, model.answer_question):
        assert linear.bias.grad.abs().max() > 1e-3


def test_the_readouts_weights_start_small_or_with_a_deviation_of_1() -> None:
    """Initial weights are smaller for a larger vocabulary, as in the authors' code."""
    words, bound = 900, math.sqrt(6 / (900 + 6 + 1))
    small, usual = (
        reader(options=AttentiveReaderModel(hidden_size=6, embedding_size=4, readout=how), words=words)
        for how in ("scaled", "normal")
    )
    assert 0.99 * bound < small.output.weight.abs().max() <= bound
    assert abs(usual.output.weight.std() - 1) < 0.05
    assert abs(usual.output.weight.mean()) < 0.05
    assert usual.embedding.weight.abs().max() <= math.sqrt(6 / (900 + 4 + 1)), "the others are as they were"


def test_normal_readout_leaves_other_repeated_matrices_unchanged() -> None:
    options = AttentiveReaderModel(hidden_size=6, embedding_size=6, weights="repeated", readout="normal")
    model = reader(options=options, words=900)
    assert abs(model.output.weight.std() - 1) < 0.05
    assert model.embedding.weight.abs().max() < 0.1
