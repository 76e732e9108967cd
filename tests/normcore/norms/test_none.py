import torch

from normcore.norms import build
from normcore.spec.methods.none import NoNorm


def test_summed_inputs_pass_unchanged() -> None:
    a = torch.randn(3, 4)
    for site in ("input", "recurrent", "sum"):
        norm = build(NoNorm()).norm(4, site)
        assert norm(a, 0) is a
        assert not list(norm.parameters())


def test_cell_readout_has_a_bias_that_starts_at_zero() -> None:
    norm = build(NoNorm()).norm(4, "cell")
    a = torch.randn(3, 4)
    assert torch.equal(norm(a, 0), a)
    with torch.no_grad():
        norm.get_parameter("bias").add_(2)
    assert torch.equal(norm(a, 0), a + 2)
