"""Segments are cut as the RBN authors cut them, and the test text is one sequence."""

import math
from pathlib import Path

import pytest
import torch

from normcore.data.text import Corpus, ptb
from normcore.models.language_model import LanguageModel
from normcore.spec.tasks.char_lm import CharLM
from normcore.tasks.char_lm import segment_starts
from tests.normcore.networks import recurrent

CPU = torch.device("cpu")
LENGTH = 10
TASK = CharLM(sequence_length=LENGTH)


def corpus(train: int = 1007, valid: int = 55, test: int = 2503) -> Corpus:
    """Symbol i at place i, modulo 7 and with a jump between the splits."""
    text = torch.arange(train + valid + test) % 7
    return Corpus(text[:train], text[train : train + valid], text[train + valid :], "abcdefg", {"t": ""})


def test_segments_fit_between_the_offset_and_the_end() -> None:
    assert segment_starts(35, 10).tolist() == [0, 10, 20]
    assert segment_starts(35, 10, offset=5).tolist() == [5, 15, 25]
    assert segment_starts(35, 10, offset=6).tolist() == [6, 16]


def test_an_epoch_has_one_offset_and_leaves_out_one_segment() -> None:
    task = CharLM(corpus(), TASK, CPU)
    generator = torch.Generator().manual_seed(0)
    offsets = set()
    for _ in range(200):
        starts = task.epoch(generator)
        (offset,) = set((starts % LENGTH).tolist())
        every = segment_starts(1007, LENGTH, offset).tolist()
        assert set(starts.tolist()) < set(every)
        assert len(starts) == len(every) - 1
        assert starts.tolist() != sorted(starts.tolist())
        offsets.add(offset)
    assert offsets == set(range(LENGTH))


@pytest.mark.parametrize("offset", [0, 50, 51, 99])
def test_penn_treebank_makes_791_updates_an_epoch(offset: int) -> None:
    """RBN Fig. 3a, at length 100 and batch 64."""
    assert math.ceil((len(segment_starts(5_059_550, 100, offset)) - 1) / 64) == 791


class CountsOn(torch.nn.Module):
    """Gives the symbol after the one it sees all the probability but a little."""

    def forward(self, symbols: torch.Tensor, state: int | None = None) -> tuple[torch.Tensor, int]:
        return 9 * torch.nn.functional.one_hot((symbols + 1) % 7, 7).double(), (state or 0) + len(symbols)


NATS_WHEN_RIGHT = math.log(math.exp(9) + 6) - 9


def test_targets_are_the_inputs_one_step_later() -> None:
    task = CharLM(corpus(), TASK, CPU)
    assert task.loss(CountsOn(), torch.tensor([0, 33])).item() == pytest.approx(NATS_WHEN_RIGHT)
    scores = task.validate(CountsOn())
    assert scores["accuracy"] == 1
    assert scores["loss"] == pytest.approx(NATS_WHEN_RIGHT)
    assert scores["bits_per_char"] == pytest.approx(NATS_WHEN_RIGHT / math.log(2))
    assert task.test(CountsOn()) == pytest.approx(NATS_WHEN_RIGHT / math.log(2))


def test_the_population_is_every_training_segment_without_its_last_character() -> None:
    task = CharLM(corpus(), TASK, CPU)
    x = torch.cat(list(task.population()), 1)
    assert torch.equal(x.T, corpus().train[:1000].view(100, LENGTH)[:, :-1])


def test_the_test_text_is_one_sequence_though_it_is_read_in_chunks() -> None:
    torch.manual_seed(0)
    model = LanguageModel(recurrent("lstm", 7, 5), 7).double()
    text = corpus().test
    logits, _ = model(text[:-1].unsqueeze(1))
    nats = torch.nn.functional.cross_entropy(logits.squeeze(1), text[1:]).item()
    task = CharLM(corpus(), TASK, CPU)
    with torch.no_grad():
        assert task.test(model) == pytest.approx(nats / math.log(2), abs=1e-12)


def test_eval_chars_shortens_the_validation_and_the_test_text() -> None:
    task = CharLM(corpus(valid=500), CharLM(sequence_length=LENGTH, eval_chars=30), CPU)
    seen: list[int] = []
    model = CountsOn()
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].numel()))
    task.validate(model)
    task.test(model)
    assert seen == [3 * (LENGTH - 1), 29]


@pytest.mark.parametrize("length", [28, 300])
def test_too_few_examples_are_an_error_that_says_so(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} characters are too many for 1,007 of training text and 55 of"):
        CharLM(corpus(), CharLM(sequence_length=length), CPU)


def test_penn_treebank_epochs_at_the_paper_profile(datasets_dir: Path) -> None:
    task = CharLM(ptb(datasets_dir), CharLM(corpus="ptb", sequence_length=100), CPU)
    assert math.ceil(len(task.epoch(torch.Generator().manual_seed(0))) / 64) == 791
