"""Predict the next character (RBN section 5.2).

L characters in an example, of which L - 1 are inputs and L - 1 are targets; B examples in a batch, V symbols.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.data import text
from normcore.data.corpus import Corpus
from normcore.models.build import Build
from normcore.models.language_model import LanguageModel
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks import char_lm as spec
from normcore.tasks.task import Loss, Resources, even_batches, in_batches

EVALUATION_BATCH = 100  # segments, as in the authors' code
TEST_CHUNK = 1000  # characters between two looks at the loss; the state is carried, so it changes nothing
SAMPLE = 1000  # characters of generated text


class CharacterModelling:
    """Examples are segments of one text, each read from the initial state; the test text is read in one go.

    The text stays in as few bytes a character as it came; a batch of it becomes int64.

    Args:
        corpus: the text, already read; None reads the one that the options name.

    Raises:
        ValueError: a text does not hold enough examples.
    """

    def __init__(self, options: spec.CharLM, resources: Resources, corpus: Corpus | None = None) -> None:
        if corpus is None:
            corpus = text.load(options, resources.datasets_dir)
        options.check_lengths(len(corpus.train), len(corpus.valid))
        self.checksums: Mapping[str, str] = corpus.checksums
        self.no_skill = math.log2(len(corpus.symbols))
        self._symbols = corpus.symbols
        self._length = options.sequence_length
        self._device = resources.device
        self._train = corpus.train.to(resources.device)
        self._valid = corpus.valid[: options.valid_chars].to(resources.device)
        self._test = corpus.test[: options.test_chars].to(resources.device)

    def model(self, build: Build) -> nn.Module:
        assert isinstance(build.options, RecurrentModel)
        return LanguageModel(build.recurrent(build.options, len(self._symbols)), len(self._symbols))

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """First characters of this epoch's segments: a random offset below L, then one every L, with one of them
        left out.
        """
        offset = int(torch.randint(self._length, (), generator=generator))
        starts = segment_starts(len(self._train), self._length, offset)
        return in_batches(starts[torch.randperm(len(starts), generator=generator)[1:]], batch_size)

    def batch(self, examples: Tensor, generator: torch.Generator) -> Tensor:
        return self._segments(self._train, examples, self._length)

    def loss(self, model: nn.Module, batch: Tensor) -> Loss:
        logits, _ = model(batch[:-1])  # (L - 1, B, V)
        return Loss(F.cross_entropy(logits.flatten(0, 1), batch[1:].flatten()))

    def population(self) -> Iterator[Tensor]:
        for examples in even_batches(segment_starts(len(self._train), self._length), EVALUATION_BATCH):
            yield self._segments(self._train, examples, self._length)

    def observe(self, model: nn.Module, batch: Tensor) -> None:
        model(batch[:-1])

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Segments from offset 0; the state begins anew in each."""
        return self._score(model, self._valid, self._length)

    def test(self, model: nn.Module) -> dict[str, float]:
        """The whole test text, read as one sequence, in chunks that carry the state."""
        nats = torch.zeros((), dtype=torch.float64, device=self._device)
        correct = torch.zeros((), dtype=torch.int64, device=self._device)
        inputs, targets = self._test[:-1].unsqueeze(1), self._test[1:]  # (N - 1, 1), (N - 1,)
        state = None
        for x, y in zip(torch.split(inputs, TEST_CHUNK), torch.split(targets, TEST_CHUNK), strict=True):
            logits, state = model(x.long(), state)
            nats += F.cross_entropy(logits.squeeze(1), y.long(), reduction="sum")
            correct += (logits.squeeze(1).argmax(-1) == y).sum()
        return {
            "bits_per_char": nats.item() / len(targets) / math.log(2),
            "accuracy": correct.item() / len(targets),
        }

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        return {"sample.txt": lambda: self.sample(model).encode()}

    @torch.no_grad()
    def sample(self, model: nn.Module, characters: int = SAMPLE) -> str:
        """Text that the model makes up, one character after the other, after the first of the test text."""
        generator = torch.Generator(self._device).manual_seed(0)
        symbol, state = self._test[:1].long(), None
        chosen = []
        for _ in range(characters):
            logits, state = model(symbol.unsqueeze(1), state)
            symbol = torch.multinomial(logits[0, 0].float().softmax(-1), 1, generator=generator)
            chosen.append(symbol)
        return "".join(self._symbols[number] for number in torch.cat(chosen).tolist())

    def test_segments(self, model: nn.Module, length: int) -> dict[str, float]:
        """Scores as ``validate`` gives them, for the test text in segments of ``length`` characters (RBN Fig. 3b).

        Raises:
            ValueError: the test text does not hold two of them.
        """
        if not 2 <= length <= len(self._test) // 2:
            raise ValueError(
                f"expected segments of 2 to {len(self._test) // 2:,} characters, of which the test text of"
                f" {len(self._test):,} holds two, received {length:,}; use shorter ones, or more of the text"
                " (task.test_chars)"
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
        return symbols[steps.unsqueeze(1) + starts.to(self._device, non_blocking=True)].long()


def segment_starts(characters: int, length: int, offset: int = 0) -> Tensor:
    """(N,) int64: where the segments begin that fit between ``offset`` and the end."""
    return torch.arange((characters - offset) // length) * length + offset
