import pytest
import torch

from normcore.norms import build
from normcore.spec.methods.dynamic_tanh import DynamicTanh
from normcore.spec.models.model import Place


def test_output_is_the_equation() -> None:
    torch.manual_seed(0)
    norm = build(DynamicTanh(alpha_init=0.3, gain_init=2.0)).norm(6, "cell").double()
    bias = norm.get_parameter("bias")
    with torch.no_grad():
        bias.add_(torch.randn(6))
    a = torch.randn(4, 6, dtype=torch.float64)
    torch.testing.assert_close(norm(a, 0), 2 * torch.tanh(0.3 * a) + bias, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("site", "names"), [("sum", {"alpha", "weight"}), ("input", {"alpha", "weight", "bias"})])
def test_all_features_share_a_single_alpha(site: Place, names: set[str]) -> None:
    norm = build(DynamicTanh(sites=(site,))).norm(6, site)
    parameters = dict(norm.named_parameters())
    assert set(parameters) == names
    assert parameters["alpha"].shape == ()
    assert parameters["alpha"].item() == 0.5
