"""Bad input of a layer is refused in the words of torch, where torch has words for it."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from normcore.nn import GRU, LSTM, RNN
from normcore.nn.layers import Layer

LAYERS: dict[str, type[Layer]] = {"LSTM": LSTM, "GRU": GRU, "RNN": RNN}
F, H, T, B = 2, 5, 4, 3
ERRORS = (ValueError, RuntimeError, TypeError)
Try = Callable[[Callable[..., Any]], Any]
"""A use of a class of layers, of torch or ours."""


def refusal(use: Try, kind: Any) -> tuple[type, str]:
    """Return class and message of the error that a use of a class raises."""
    with pytest.raises(ERRORS) as caught:
        use(kind)
    return caught.type, str(caught.value)


def of_shapes(*shape: int, count: int) -> Any:
    """First states of zeros: a tensor for a GRU or RNN, two tensors for an LSTM."""
    states = tuple(torch.zeros(shape) for _ in range(count))
    return states if count > 1 else states[0]


ARGUMENTS: dict[str, dict[str, Any]] = {
    "no units": {"hidden_size": 0},
    "fewer units than none": {"hidden_size": -1},
    "no inputs": {"input_size": 0},
    "no layers": {"num_layers": 0},
    "half a unit": {"hidden_size": 2.5},
    "units as a float": {"hidden_size": 4.0},
    "units as a text": {"hidden_size": "4"},
    "inputs as a float": {"input_size": 2.0},
    "dropout above 1": {"dropout": 1.5},
    "dropout below 0": {"dropout": -0.1},
    "dropout as a flag": {"dropout": True},
}
INPUTS: dict[str, Try] = {
    "no steps": lambda layer: layer(F, H)(torch.zeros(0, B, F)),
    "no steps, batch first": lambda layer: layer(F, H, batch_first=True)(torch.zeros(B, 0, F)),
    "no steps of a single sequence": lambda layer: layer(F, H)(torch.zeros(0, F)),
    "no steps and no examples": lambda layer: layer(F, H)(torch.zeros(0, 0, F)),
    "one dimension": lambda layer: layer(F, H)(torch.zeros(F)),
    "four dimensions": lambda layer: layer(F, H)(torch.zeros(1, T, B, F)),
    "wrong width": lambda layer: layer(F, H)(torch.zeros(T, B, F + 1)),
    "wrong type": lambda layer: layer(F, H)(torch.zeros(T, B, F, dtype=torch.float64)),
    "whole numbers": lambda layer: layer(F, H)(torch.zeros(T, B, F, dtype=torch.int64)),
    "other device": lambda layer: layer(F, H)(torch.zeros(T, B, F, device="meta")),
    "weights on the other device": lambda layer: layer(F, H, device="meta")(torch.zeros(T, B, F)),
}
STATES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "too wide": ((T, B, F), (1, B, H + 1)),
    "too many layers": ((T, B, F), (2, B, H)),
    "too many examples": ((T, B, F), (1, B + 1, H)),
    "two dimensions for a batch": ((T, B, F), (1, H)),
    "three dimensions for a single sequence": ((T, F), (1, 1, H)),
    "too wide for a single sequence": ((T, F), (1, H + 1)),
}
"""Shapes of x, and of each first state."""


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_argument_is_refused_as_by_torch(kind: str, case: str) -> None:
    def use(layer: Callable[..., Any]) -> Any:
        return layer(**{"input_size": F, "hidden_size": H, "num_layers": 2, **ARGUMENTS[case]})

    assert refusal(use, LAYERS[kind]) == refusal(use, getattr(nn, kind))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("case", INPUTS)
def test_input_is_refused_as_by_torch(kind: str, case: str) -> None:
    assert refusal(INPUTS[case], LAYERS[kind]) == refusal(INPUTS[case], getattr(nn, kind))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("case", STATES)
def test_first_state_is_refused_as_by_torch(kind: str, case: str) -> None:
    x, state = STATES[case]

    def use(layer: Callable[..., Any]) -> Any:
        return layer(F, H)(torch.zeros(x), of_shapes(*state, count=2 if kind == "LSTM" else 1))

    assert refusal(use, LAYERS[kind]) == refusal(use, getattr(nn, kind))


def test_second_first_state_is_refused_by_its_number_as_by_torch() -> None:
    def use(layer: Callable[..., Any]) -> Any:
        return layer(F, H)(torch.zeros(T, B, F), (torch.zeros(1, B, H), torch.zeros(1, B, H + 1)))

    assert refusal(use, LSTM) == refusal(use, nn.LSTM)


def test_first_state_on_another_device_is_refused_as_by_torch() -> None:
    def use(layer: Callable[..., Any]) -> Any:
        return layer(F, H)(torch.zeros(T, B, F), torch.zeros(1, B, H, device="meta"))

    assert refusal(use, GRU) == refusal(use, nn.GRU)


PACKED = pack_padded_sequence(torch.zeros(T, B, F), torch.tensor([4, 2, 1]))
WITHOUT_WORDS_OF_TORCH: dict[str, tuple[Try, type[Exception], str]] = {
    "first state of another type": (
        lambda layer: layer(F, H)(torch.zeros(T, B, F), 2 * (torch.zeros(1, B, H).double(),)),
        RuntimeError,
        "same dtype, found input tensor with torch.float32 and hidden tensor with torch.float64",
    ),
    "one first state": (
        lambda layer: layer(F, H)(torch.zeros(T, B, F), (torch.zeros(1, B, H),)),
        RuntimeError,
        "Expected 2 hidden states, got 1",
    ),
    "three first states": (
        lambda layer: layer(F, H)(torch.zeros(T, B, F), 3 * (torch.zeros(1, B, H),)),
        RuntimeError,
        "Expected 2 hidden states, got 3",
    ),
    "packed, wrong width": (
        lambda layer: layer(F + 1, H)(PACKED),
        RuntimeError,
        "input.size(-1) must be equal to input_size. Expected 3, got 2",
    ),
    "packed, first states of too many examples": (
        lambda layer: layer(F, H)(PACKED, 2 * (torch.zeros(1, B + 1, H),)),
        RuntimeError,
        "Expected hidden[0] size (1, 3, 5), got [1, 4, 5]",
    ),
    "packed, wrong type": (
        lambda layer: layer(F, H).double()(PACKED),
        ValueError,
        "RNN input dtype (torch.float32) does not match weight dtype (torch.float64)",
    ),
    "float16": (
        lambda layer: layer(F, H).half()(torch.zeros(T, B, F).half()),
        RuntimeError,
        "use float32 weights, with torch.autocast in bfloat16",
    ),
    "projection": (lambda layer: layer(F, H, proj_size=3), ValueError, "proj_size"),
    "option of another cell": (lambda _: GRU(F, H, forget_bias=1.0), ValueError, "forget_bias"),
}
"""Arguments that torch refuses elsewhere, or does not refuse; with our error."""


@pytest.mark.parametrize("case", WITHOUT_WORDS_OF_TORCH)
def test_input_that_torch_has_no_words_for_is_refused_in_ours(case: str) -> None:
    use, error, words = WITHOUT_WORDS_OF_TORCH[case]
    kind, message = refusal(use, LSTM)
    assert kind is error
    assert words in message


def test_unknown_norm_is_refused_with_all_names() -> None:
    with pytest.raises(ValueError) as caught:
        LSTM(F, H, norm="layernorm")
    for name in ("layernorm", "layer_norm", "rms_norm", "recurrent_batch_norm", "none"):
        assert name in str(caught.value)


@pytest.mark.parametrize("kind", LAYERS)
def test_batch_without_examples_is_as_in_torch(kind: str) -> None:
    """Outputs have no examples, and gradients are 0."""
    theirs = getattr(nn, kind)(F, H, num_layers=2, bidirectional=True)
    for norm in ("none", "layer_norm"):
        ours = LAYERS[kind](F, H, num_layers=2, bidirectional=True, norm=norm)
        x = torch.zeros(T, 0, F, requires_grad=True)
        y, last = ours(x)
        expected, their_last = theirs(x)
        assert y.shape == expected.shape
        for mine, their in zip(_states(last), _states(their_last), strict=True):
            assert mine.shape == their.shape
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.shape == x.shape
        for parameter in ours.parameters():
            assert parameter.grad is not None
            assert not parameter.grad.any()


def _states(last: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return last if isinstance(last, tuple) else (last,)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_nan_reaches_the_same_steps_and_examples_as_in_torch(kind: str, kernel: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(T, B, F)
    x[1, 2, 0] = torch.nan
    expected = getattr(nn, kind)(F, H)(x)[0].isnan()
    assert expected[1:, 2].all()
    assert expected.sum() == (T - 1) * H
    for norm in ("none", "layer_norm", "rms_norm"):
        assert torch.equal(LAYERS[kind](F, H, norm=norm, kernel=kernel)(x)[0].isnan(), expected)


@pytest.mark.parametrize("kind", LAYERS)
def test_batch_of_one_has_statistics_in_evaluation_only(kind: str) -> None:
    layer = LAYERS[kind](F, H, norm="recurrent_batch_norm")
    x = torch.randn(T, 1, F)
    with pytest.raises(ValueError, match="2 or more examples"):
        layer(x)
    assert layer.eval()(x)[0].isfinite().all()
    assert layer(x[:, 0])[0].shape == (T, H)


def test_single_sequence_is_read_time_first_with_batch_first_too() -> None:
    layer, turned = LSTM(F, H, norm="layer_norm"), LSTM(F, H, norm="layer_norm", batch_first=True)
    turned.load_state_dict(layer.state_dict())
    x = torch.randn(T, F)
    assert torch.equal(turned(x)[0], layer(x)[0])


def test_dropout_of_a_single_layer_warns_in_the_words_of_torch() -> None:
    told = []
    for kind in (LSTM, nn.LSTM):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind(F, H, dropout=0.5)
        [warning] = caught
        told.append((warning.category, str(warning.message)))
        assert kind is nn.LSTM or warning.filename == __file__
    assert told[0] == told[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LSTM(F, H, dropout=0.5, num_layers=2)
        LSTM(F, H)


def test_lengths_of_zero_are_refused_before_they_reach_a_layer() -> None:
    with pytest.raises(RuntimeError, match="Length of all samples has to be greater than 0"):
        pack_padded_sequence(torch.zeros(T, B, F), torch.tensor([4, 2, 0]))
    with pytest.raises(RuntimeError):
        LSTM(F, H)(PackedSequence(torch.zeros(0, F), torch.zeros(0, dtype=torch.int64)))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("weight_ih_l0", (8, 3)),
        ("weight_hh_l0", (4, 4)),
        ("bias_ih_l0", (15,)),
        ("bias_hh_l0", (64,)),
        ("norm_h_l0.weight", (8,)),
        ("norm_x_l0.bias", (15,)),
        ("norm_c_l0.weight", (3,)),
    ],
)
def test_weights_of_another_shape_are_refused_before_a_kernel_reads_them(name: str, shape: tuple[int, ...]) -> None:
    layer = LSTM(3, 4, norm="layer_norm")
    of, _, last = name.rpartition(".")
    setattr(layer.get_submodule(of), last, nn.Parameter(torch.zeros(shape)))
    with pytest.raises(RuntimeError, match=r"size|shape"):
        layer(torch.randn(5, 2, 3))


def test_bias_that_torch_would_expand_is_expanded() -> None:
    one, all_alike = (LSTM(3, 4, norm="layer_norm") for _ in range(2))
    one.load_state_dict(all_alike.state_dict())
    one.bias_hh_l0 = nn.Parameter(torch.ones(1))
    all_alike.bias_hh_l0 = nn.Parameter(torch.ones(16))
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(one(x)[0], all_alike(x)[0])
    one(x)[0].sum().backward()
    all_alike(x)[0].sum().backward()
    grad, expected = one.bias_hh_l0.grad, all_alike.bias_hh_l0.grad
    assert grad is not None
    assert expected is not None
    torch.testing.assert_close(grad, expected.sum(0, keepdim=True), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("of_mean", "of_var"), [((5, 3), (5, 3)), ((5, 16), (2, 16))])
def test_statistics_of_another_size_are_refused(of_mean: tuple[int, int], of_var: tuple[int, int]) -> None:
    layer = LSTM(3, 4, norm="recurrent_batch_norm").eval()
    norm = layer.get_submodule("norm_h_l0")
    norm.running_mean, norm.running_var = torch.zeros(of_mean), torch.ones(of_var)
    with torch.no_grad(), pytest.raises((RuntimeError, IndexError), match="size"):
        layer(torch.randn(5, 2, 3))


@pytest.mark.parametrize(
    ("kind", "arguments", "options", "words"),
    [
        (RNN, (3, 4, 1, "relu"), {}, "bias should be of type bool, got: str"),
        (RNN, (3, 4), {"nonlinearity": "relu"}, "nonlinearity: layers with a norm have only 'tanh', received 'relu'"),
        (LSTM, (3, 4), {"proj_size": 2}, "proj_size: layers with a norm have only 0, received 2"),
        (GRU, (3, 4), {"forget_bias": 1.0}, "forget_bias: GRU has no such option; it has first_state, identity_gates"),
        (LSTM, (3, 4), {"norm": None}, "norm: expected the name of a method"),
        (LSTM, (3, 4), {"norm": 5}, "norm: expected the name of a method"),
    ],
)
def test_what_only_torch_has_is_refused_with_what_is_here(
    kind: type[Layer], arguments: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        kind(*arguments, **options)


def test_torchs_own_defaults_may_be_named() -> None:
    RNN(3, 4, nonlinearity="tanh")
    LSTM(3, 4, proj_size=0)


def test_packed_batch_of_one_is_refused_in_training() -> None:
    layer = LSTM(F, H, norm="recurrent_batch_norm")
    packed = pack_padded_sequence(torch.randn(T, 1, F), torch.tensor([T]))
    with pytest.raises(ValueError, match="expected 2 or more examples"):
        layer(packed)
    assert layer.eval()(packed)[0].data.shape == (T, H)


@pytest.mark.parametrize("name", ["weight_hh_l0", "bias_hh_l0", "norm_c_l0.weight"])
def test_weights_on_another_device_are_refused_by_torch(name: str) -> None:
    layer = LSTM(3, 4, norm="layer_norm")
    of, _, last = name.rpartition(".")
    moved = nn.Parameter(layer.get_parameter(name).detach().to("meta"))
    setattr(layer.get_submodule(of), last, moved)
    with pytest.raises(RuntimeError, match="device"):
        layer(torch.randn(5, 2, 3))


def test_calibrate_names_what_it_cannot_read_and_keeps_the_statistics() -> None:
    layer = LSTM(F, H, norm="recurrent_batch_norm")
    layer(torch.randn(T, 5, F))
    before = {name: buffer.clone() for name, buffer in layer.named_buffers()}
    pairs = [(torch.randn(T, 5, F), torch.zeros(5))]
    with pytest.raises(TypeError, match=r"expected batches of inputs, received a tuple; .* layer.calibrate\(x"):
        layer.calibrate(pairs)  # type: ignore[arg-type]
    assert all(torch.equal(buffer, before[name]) for name, buffer in layer.named_buffers())
    assert before
