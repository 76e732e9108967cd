import torch

from normcore.recurrent import load_torch_state_dict
from tests.normcore.networks import recurrent


def test_gru_without_a_norm_equals_torch_without_the_second_candidate_bias() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.GRU(3, 5)
    ours = recurrent("gru", 3, 5)
    with torch.no_grad():
        theirs.get_parameter("bias_hh_l0")[10:] = 0
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(20, 4, 3)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0], rtol=0, atol=1e-6)
