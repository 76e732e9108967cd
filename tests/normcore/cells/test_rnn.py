import torch

from normcore.recurrent import load_torch_state_dict
from tests.normcore.networks import recurrent


def test_rnn_without_a_norm_equals_torch() -> None:
    torch.manual_seed(0)
    theirs = torch.nn.RNN(3, 5)
    ours = recurrent("rnn", 3, 5)
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(20, 4, 3)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0], rtol=0, atol=1e-6)
