"""Task: predict the next character (RBN section 5.2).

Shapes: L characters in an example (the first L - 1 are inputs, the last L - 1 targets), B examples in a batch, V
symbols.
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
TEST_CHUNK = 1000  # characters in one forward pass; the state is carried over, so the result does not depend on it
SAMPLE = 1000  # characters of generated text


class CharacterModelling:
    """Task of modelling a text in characters. Examples are segments of the text, each read from the initial state; the
    test text is read as one sequence.

    The text keeps its integer type in memory; only batches become int64.

    Args:
        corpus: a text that was read already; None reads the text that the options name.

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
        """Positions where this epoch's segments begin: one every L characters, from a random offset below L on. One
        random segment is left out.
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
        """Scores on the segments of the validation text, from offset 0; each segment starts with the initial state."""
        return self._score(model, self._valid, self._length)

    def test(self, model: nn.Module) -> dict[str, float]:
        """Scores on the test text, read as one sequence: in chunks, with the state carried from chunk to chunk."""
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
        """Text that the model generates character by character, starting from the first character of the test text."""
        generator = torch.Generator(self._device).manual_seed(0)
        symbol, state = self._test[:1].long(), None
        chosen = []
        for _ in range(characters):
            logits, state = model(symbol.unsqueeze(1), state)
            symbol = torch.multinomial(logits[0, 0].float().softmax(-1), 1, generator=generator)
            chosen.append(symbol)
        return "".join(self._symbols[number] for number in torch.cat(chosen).tolist())

    def test_segments(self, model: nn.Module, length: int) -> dict[str, float]:
        """Scores on the test text in segments of ``length`` characters, the same scores as ``validate`` (RBN Fig. 3b).

        Raises:
            ValueError: the test text does not hold two such segments.
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
        """Cut a segment of ``length`` symbols from each start on, time-major: (L, B)."""
        steps = torch.arange(length, device=self._device)
        return symbols[steps.unsqueeze(1) + starts.to(self._device, non_blocking=True)].long()


def segment_starts(characters: int, length: int, offset: int = 0) -> Tensor:
    """Starts (N,), int64, of the consecutive segments that fit between ``offset`` and the end of the text."""
    return torch.arange((characters - offset) // length) * length + offset
