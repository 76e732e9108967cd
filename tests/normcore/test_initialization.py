import pytest
import torch

from normcore.recurrent import Recurrent

CANDIDATE = {"rnn": 0, "lstm": 2, "gru": 2}


@pytest.mark.parametrize("cell", CANDIDATE)
def test_orthogonal_matrices_span_all_gates(cell: str) -> None:
    torch.manual_seed(0)
    built = Recurrent(cell, 3, 6).double().cells[0]
    for weight in (built.weight_ih, built.weight_hh):
        eye = torch.eye(weight.shape[1], dtype=torch.float64)
        torch.testing.assert_close(weight.T @ weight, eye, rtol=0, atol=1e-6)
    if cell != "rnn":
        block = built.weight_hh[:6]
        assert not torch.allclose(block.T @ block, torch.eye(6, dtype=torch.float64), atol=0.1)


@pytest.mark.parametrize("cell", CANDIDATE)
def test_the_identity_is_in_the_candidates_block_alone(cell: str) -> None:
    torch.manual_seed(0)
    blocks = Recurrent(cell, 3, 6, recurrent_init="identity").cells[0].weight_hh.detach().view(-1, 6, 6)
    assert torch.equal(blocks[CANDIDATE[cell]], torch.eye(6))
    others = torch.cat([block for k, block in enumerate(blocks) if k != CANDIDATE[cell]] or [torch.eye(6)])
    torch.testing.assert_close(others.T @ others, torch.eye(6), rtol=0, atol=1e-6)


def test_the_seed_decides_the_weights() -> None:
    weights = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        weights.append(Recurrent("lstm", 3, 6, recurrent_init="identity").cells[0].weight_hh)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
