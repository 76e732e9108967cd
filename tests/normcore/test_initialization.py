import pytest
import torch

from tests.normcore.networks import recurrent

CANDIDATE = {"rnn": 0, "lstm": 2, "gru": 2}


@pytest.mark.parametrize("cell", CANDIDATE)
def test_orthogonal_matrices_span_all_gates(cell: str) -> None:
    torch.manual_seed(0)
    built = recurrent(cell, 3, 6).double().cells[0]
    weight_ih, weight_hh = built.get_parameter("weight_ih"), built.get_parameter("weight_hh")
    for weight in (weight_ih, weight_hh):
        eye = torch.eye(weight.shape[1], dtype=torch.float64)
        torch.testing.assert_close(weight.T @ weight, eye, rtol=0, atol=1e-6)
    if cell != "rnn":
        block = weight_hh[:6]
        assert not torch.allclose(block.T @ block, torch.eye(6, dtype=torch.float64), atol=0.1)


@pytest.mark.parametrize("cell", CANDIDATE)
def test_identity_is_only_in_the_block_of_the_candidate(cell: str) -> None:
    torch.manual_seed(0)
    network = recurrent(cell, 3, 6, recurrent_init="identity")
    blocks = network.get_parameter("cells.0.weight_hh").detach().view(-1, 6, 6)
    assert torch.equal(blocks[CANDIDATE[cell]], torch.eye(6))
    others = torch.cat([block for k, block in enumerate(blocks) if k != CANDIDATE[cell]] or [torch.eye(6)])
    torch.testing.assert_close(others.T @ others, torch.eye(6), rtol=0, atol=1e-6)


def test_the_seed_decides_the_weights() -> None:
    weights = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        network = recurrent("lstm", 3, 6, recurrent_init="identity")
        weights.append(network.get_parameter("cells.0.weight_hh"))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("method", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize(("cell", "usual"), [("rnn", 0.0), ("lstm", 1.0), ("gru", 0.0)])
def test_method_can_spread_the_initial_bias(cell: str, usual: float, method: str) -> None:
    torch.manual_seed(0)
    network = recurrent(cell, 3, 200, norm={"method": method, "bias_init": 0.1})
    bias = network.get_parameter("cells.0.bias").detach()
    centre = torch.zeros_like(bias)
    if cell == "lstm":
        centre[200:400] = usual
    off = bias - centre
    assert off.abs().max() <= 0.1
    assert off.abs().mean() == pytest.approx(0.05, abs=0.006)


def test_generator_is_unchanged_without_spread() -> None:
    states = []
    for spread in (0.0, 0.1):
        torch.manual_seed(0)
        recurrent("lstm", 3, 5, norm={"method": "layer_norm", "bias_init": spread})
        states.append(torch.get_rng_state())
    torch.manual_seed(0)
    recurrent("lstm", 3, 5)
    assert torch.equal(states[0], torch.get_rng_state())
    assert not torch.equal(states[0], states[1])


@pytest.mark.parametrize(
    ("cell", "gates", "identity"), [("lstm", "ifgo", "if"), ("gru", "rzn", "rzn"), ("lstm", "ifgo", "")]
)
def test_identity_can_be_in_any_blocks(cell: str, gates: str, identity: str) -> None:
    torch.manual_seed(0)
    network = recurrent(cell, 3, 6, recurrent_init="identity", identity_gates=tuple(identity))
    blocks = network.get_parameter("cells.0.weight_hh").detach().view(-1, 6, 6)
    assert [torch.equal(block, torch.eye(6)) for block in blocks] == [gate in identity for gate in gates]
    others = torch.cat([b for b, gate in zip(blocks, gates, strict=True) if gate not in identity] or [torch.eye(6)])
    torch.testing.assert_close(others.T @ others, torch.eye(6), rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_identity_in_no_block_is_orthogonal(cell: str) -> None:
    """A spec that asks for the identity in no block is refused as pointless."""
    torch.manual_seed(0)
    identity = recurrent(cell, 3, 6, recurrent_init="identity", identity_gates=())
    torch.manual_seed(0)
    orthogonal = recurrent(cell, 3, 6, recurrent_init="orthogonal")
    for ours, expected in zip(identity.parameters(), orthogonal.parameters(), strict=True):
        assert torch.equal(ours, expected)


@pytest.mark.parametrize("cell", CANDIDATE)
def test_uniform_weights_equal_torch_except_the_bias_of_the_forget_gate(cell: str) -> None:
    torch.manual_seed(0)
    built = recurrent(cell, 50, 100, recurrent_init="uniform").cells[0]
    theirs = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](50, 100)
    bias = built.get_parameter("bias").detach().clone()
    if cell == "lstm":
        bias[100:200] -= 1
    pairs = [
        (built.get_parameter("weight_ih"), theirs.get_parameter("weight_ih_l0")),
        (built.get_parameter("weight_hh"), theirs.get_parameter("weight_hh_l0")),
        (bias, theirs.get_parameter("bias_ih_l0") + theirs.get_parameter("bias_hh_l0")),
    ]
    for parameter, expected in pairs:
        assert parameter.shape == expected.shape
        assert parameter.std().item() == pytest.approx(expected.std().item(), rel=0.2)
        assert parameter.abs().max().item() == pytest.approx(expected.abs().max().item(), rel=0.1)


@pytest.mark.parametrize(("cell", "gates"), [("rnn", 1), ("lstm", 4), ("gru", 3)])
def test_blocks_of_gates_can_be_orthogonal_separately(cell: str, gates: int) -> None:
    torch.manual_seed(0)
    built = recurrent(cell, 50, 30, recurrent_init="orthogonal_blocks").cells[0]
    weight_ih, weight_hh = built.get_parameter("weight_ih").detach(), built.get_parameter("weight_hh").detach()
    blocks = weight_hh.chunk(gates)
    assert len(blocks) == gates
    for block in blocks:
        torch.testing.assert_close(block.T @ block, torch.eye(30), rtol=0, atol=1e-5)
    assert not any(torch.equal(blocks[0], block) for block in blocks[1:])
    assert 0.099 < weight_ih.abs().max() <= 0.1
    assert weight_ih.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.05)


@pytest.mark.parametrize("inputs", [30, 50])
def test_scaled_blocks_are_orthogonal_where_they_are_square(inputs: int) -> None:
    torch.manual_seed(0)
    built = recurrent("lstm", inputs, 30, recurrent_init="scaled_blocks").cells[0]
    square = [*built.get_parameter("weight_hh").detach().chunk(4)]
    blocks = built.get_parameter("weight_ih").detach().chunk(4)
    if inputs == 30:
        square += blocks
    else:
        bound = (6 / (30 + 50 + 1)) ** 0.5
        assert all(0.98 * bound < block.abs().max() <= bound for block in blocks)
    for block in square:
        torch.testing.assert_close(block.T @ block, 0.05**2 * torch.eye(30), rtol=0, atol=1e-7)


def test_normal_weights_have_a_deviation_of_a_hundredth() -> None:
    torch.manual_seed(0)
    built = recurrent("lstm", 60, 50, recurrent_init="normal").cells[0]
    for name in ("weight_ih", "weight_hh"):
        weight = built.get_parameter(name)
        assert weight.std().item() == pytest.approx(0.01, rel=0.05)
        assert abs(weight.mean().item()) < 3e-4


def test_an_option_of_another_cell_is_refused() -> None:
    with pytest.raises(ValueError, match=r"for GRU\nforget_bias\n *Extra inputs are not permitted"):
        recurrent("gru", 3, 6, forget_bias=1.0)
