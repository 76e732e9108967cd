"""The outputs of a language model depend on the past only."""

import torch

from normcore.models.language_model import LanguageModel
from tests.normcore.networks import recurrent


def test_logits_depend_on_the_symbols_so_far_and_on_no_later_one() -> None:
    torch.manual_seed(0)
    model = LanguageModel(recurrent("lstm", 5, 4), 5).double()
    symbols = torch.tensor([[0], [1], [2], [3]])
    other = torch.tensor([[0], [1], [4], [3]])
    changed = (model(symbols)[0] != model(other)[0]).any(-1).flatten()
    assert changed.tolist() == [False, False, True, True]


def test_a_text_in_two_parts_gives_the_logits_of_the_whole() -> None:
    torch.manual_seed(0)
    model = LanguageModel(recurrent("gru", 5, 4), 5).double()
    symbols = torch.randint(5, (9, 2))
    first, state = model(symbols[:4])
    second, _ = model(symbols[4:], state)
    torch.testing.assert_close(torch.cat([first, second]), model(symbols)[0], rtol=0, atol=1e-14)
