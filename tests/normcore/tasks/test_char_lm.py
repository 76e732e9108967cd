"""Segments are cut as by the authors of RBN, and the test text is a single sequence."""

import math
from pathlib import Path

import pytest
import torch

from normcore import tasks
from normcore.data.text import Corpus
from normcore.models.language_model import LanguageModel
from normcore.spec.tasks.char_lm import CharLM
from normcore.tasks.char_lm import CharacterModelling, segment_starts
from normcore.tasks.task import Resources
from tests.normcore.networks import recurrent

CPU = torch.device("cpu")
LENGTH = 10
TASK = CharLM(sequence_length=LENGTH)


def resources(datasets_dir: Path | None = None) -> Resources:
    return Resources(datasets_dir, CPU, torch.float64)


def corpus(train: int = 1007, valid: int = 55, test: int = 2503, dtype: torch.dtype = torch.int64) -> Corpus:
    """Make a corpus with symbol i at place i, modulo 7, and with a jump between the splits."""
    text = (torch.arange(train + valid + test) % 7).to(dtype)
    return Corpus(text[:train], text[train : train + valid], text[train + valid :], "abcdefg", {"t": ""})


def test_segments_fit_between_the_offset_and_the_end() -> None:
    assert segment_starts(35, 10).tolist() == [0, 10, 20]
    assert segment_starts(35, 10, offset=5).tolist() == [5, 15, 25]
    assert segment_starts(35, 10, offset=6).tolist() == [6, 16]


def modelling(options: CharLM = TASK, text: Corpus | None = None) -> CharacterModelling:
    return CharacterModelling(options, resources(), text or corpus())


def test_an_epoch_has_one_offset_and_leaves_out_one_segment() -> None:
    task = modelling()
    generator = torch.Generator().manual_seed(0)
    offsets = set()
    for _ in range(200):
        batches = task.epoch(generator, 16)
        assert {len(batch) for batch in batches[:-1]} == {16}
        starts = torch.cat(list(batches))
        (offset,) = set((starts % LENGTH).tolist())
        every = segment_starts(1007, LENGTH, offset).tolist()
        assert set(starts.tolist()) < set(every)
        assert len(starts) == len(every) - 1
        assert starts.tolist() != sorted(starts.tolist())
        offsets.add(offset)
    assert offsets == set(range(LENGTH))


@pytest.mark.parametrize("offset", [0, 50, 51, 99])
def test_penn_treebank_makes_791_updates_an_epoch(offset: int) -> None:
    """RBN Fig. 3a, with length 100 and batch size 64."""
    assert math.ceil((len(segment_starts(5_059_550, 100, offset)) - 1) / 64) == 791


class CountsOn(torch.nn.Module):
    """Model that gives nearly all probability to the symbol that it reads plus 1, modulo 7."""

    def forward(self, symbols: torch.Tensor, state: int | None = None) -> tuple[torch.Tensor, int]:
        return 9 * torch.nn.functional.one_hot((symbols + 1) % 7, 7).double(), (state or 0) + len(symbols)


NATS_WHEN_RIGHT = math.log(math.exp(9) + 6) - 9


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8], ids=str)
def test_targets_are_the_inputs_one_step_later(dtype: torch.dtype) -> None:
    task = modelling(text=corpus(dtype=dtype))
    batch = task.batch(torch.tensor([0, 33]), torch.Generator())
    loss = task.loss(CountsOn(), batch)
    assert loss.total.item() == pytest.approx(NATS_WHEN_RIGHT)
    assert not loss.parts
    scores = task.validate(CountsOn())
    assert scores["accuracy"] == 1
    assert scores["loss"] == pytest.approx(NATS_WHEN_RIGHT)
    assert scores["bits_per_char"] == pytest.approx(NATS_WHEN_RIGHT / math.log(2))
    assert task.test(CountsOn()) == {"bits_per_char": pytest.approx(NATS_WHEN_RIGHT / math.log(2)), "accuracy": 1}


def test_the_population_is_every_training_segment_without_its_last_character() -> None:
    task, seen = modelling(text=corpus(dtype=torch.uint8)), []
    model = CountsOn()
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    for batch in task.population():
        task.observe(model, batch)
    x = torch.cat(seen, 1)
    assert torch.equal(x.T, corpus().train[:1000].view(100, LENGTH)[:, :-1])


def test_test_text_read_in_chunks_is_a_single_sequence() -> None:
    torch.manual_seed(0)
    model = LanguageModel(recurrent("lstm", 7, 5), 7).double()
    text = corpus().test
    logits, _ = model(text[:-1].unsqueeze(1))
    nats = torch.nn.functional.cross_entropy(logits.squeeze(1), text[1:]).item()
    with torch.no_grad():
        assert modelling().test(model)["bits_per_char"] == pytest.approx(nats / math.log(2), abs=1e-12)


def test_validation_and_test_text_can_be_shortened() -> None:
    task = modelling(CharLM(sequence_length=LENGTH, valid_chars=30, test_chars=41), corpus(valid=500))
    seen: list[int] = []
    model = CountsOn()
    model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].numel()))
    task.validate(model)
    task.test(model)
    assert seen == [3 * (LENGTH - 1), 40]


@pytest.mark.parametrize("length", [28, 300])
def test_too_few_examples_are_refused_with_the_reason(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} characters are too many for 1,007 of training text and 55 of"):
        modelling(CharLM(sequence_length=length))


def test_penn_treebank_epochs_at_the_paper_profile(datasets_dir: Path) -> None:
    task = tasks.build(CharLM(corpus="ptb", sequence_length=100), resources(datasets_dir))
    assert len(task.epoch(torch.Generator().manual_seed(0), 64)) == 791


def test_no_skill_is_a_uniform_guess_over_all_symbols() -> None:
    assert modelling().no_skill == pytest.approx(math.log2(7))
