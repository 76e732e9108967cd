"""Predict the next character (RBN section 5.2).

L characters in an example, of which L - 1 are inputs and L - 1 are targets; B examples in a batch, V symbols.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.data import text
from normcore.models.assembly import MakeRecurrent
from normcore.models.language_model import LanguageModel
from normcore.spec.tasks import CharLM
from normcore.tasks.task import even_batches

EVALUATION_BATCH = 100  # segments, as in the authors' code
TEST_CHUNK = 1000  # characters between two looks at the loss; the state is carried, so it changes nothing


def build(task: CharLM, datasets_dir: Path | None, device: torch.device, dtype: torch.dtype) -> "CharacterModelling":
    return CharacterModelling(text.load(task, datasets_dir), task, device)


class CharacterModelling:
    """Examples are segments of one text, each read from the initial state; the test text is read in one go.

    Raises:
        ValueError: a text does not hold enough examples.
    """

    def __init__(self, corpus: text.Corpus, task: CharLM, device: torch.device) -> None:
        task.check_lengths(len(corpus.train), len(corpus.valid))
        self.checksums: Mapping[str, str] = corpus.checksums
        self._num_symbols = len(corpus.symbols)
        self._length = task.sequence_length
        self._device = device
        self._train = corpus.train.to(device)
        self._valid = corpus.valid[: task.eval_chars].to(device)
        self._test = corpus.test[: task.eval_chars].to(device)

    def model(self, recurrent: MakeRecurrent) -> nn.Module:
        return LanguageModel(recurrent(self._num_symbols), self._num_symbols)

    def epoch(self, generator: torch.Generator) -> Tensor:
        """Where this epoch's segments begin: a random offset below L, then one every L, one of them left out."""
        offset = int(torch.randint(self._length, (), generator=generator))
        starts = segment_starts(len(self._train), self._length, offset)
        return starts[torch.randperm(len(starts), generator=generator)[1:]]

    def loss(self, model: nn.Module, examples: Tensor) -> Tensor:
        segments = self._segments(self._train, examples, self._length)  # (L, B)
        logits, _ = model(segments[:-1])  # (L - 1, B, V)
        return F.cross_entropy(logits.flatten(0, 1), segments[1:].flatten())

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Segments from offset 0; the state begins anew in each."""
        return self._score(model, self._valid, self._length)

    def population(self) -> Iterator[Tensor]:
        for examples in even_batches(segment_starts(len(self._train), self._length), EVALUATION_BATCH):
            yield self._segments(self._train, examples, self._length)[:-1]

    def test(self, model: nn.Module) -> float:
        """Bits per character of the whole test text, read as one sequence, in chunks that carry the state."""
        nats = torch.zeros((), dtype=torch.float64, device=self._device)
        inputs, targets = self._test[:-1].unsqueeze(1), self._test[1:]  # (N - 1, 1), (N - 1,)
        state = None
        for x, y in zip(torch.split(inputs, TEST_CHUNK), torch.split(targets, TEST_CHUNK), strict=True):
            logits, state = model(x, state)
            nats += F.cross_entropy(logits.squeeze(1), y, reduction="sum")
        return nats.item() / len(targets) / math.log(2)

    def test_segments(self, model: nn.Module, length: int) -> dict[str, float]:
        """What ``validate`` gives, for the test text in segments of ``length`` characters (RBN Fig. 3b).

        Raises:
            ValueError: the test text does not hold two of them.
        """
        if not 2 <= length <= len(self._test) // 2:
            raise ValueError(
                f"expected segments of 2 to {len(self._test) // 2:,} characters, of which the test text of"
                f" {len(self._test):,} holds two, received {length:,}; use shorter ones, or more of the text"
                " (task.eval_chars)"
            )
        return self._score(model, self._test, length)

    def _score(self, model: nn.Module, symbols: Tensor, length: int) -> dict[str, float]:
        nats = torch.zeros((), dtype=torch.float64, device=self._device)
        correct = torch.zeros((), dtype=torch.int64, device=self._device)
        starts = segment_starts(len(symbols), length)
        for examples in even_batches(starts, EVALUATION_BATCH):
            segments = self._segments(symbols, examples, length)
            logits, _ = model(segments[:-1])
            nats += F.cross_entropy(logits.flatten(0, 1), segments[1:].flatten(), reduction="sum")
            correct += (logits.argmax(-1) == segments[1:]).sum()
        predictions = len(starts) * (length - 1)
        loss = nats.item() / predictions
        return {"loss": loss, "accuracy": correct.item() / predictions, "bits_per_char": loss / math.log(2)}

    def _segments(self, symbols: Tensor, starts: Tensor, length: int) -> Tensor:
        """The characters from each start on, time-major: (L, B)."""
        steps = torch.arange(length, device=self._device)
        return symbols[steps.unsqueeze(1) + starts.to(self._device, non_blocking=True)]


def segment_starts(characters: int, length: int, offset: int = 0) -> Tensor:
    """(N,) int64: where the segments begin that fit between ``offset`` and the end."""
    return torch.arange((characters - offset) // length) * length + offset
