"""Task: fill the blank of a question about a text (RBN section 5.4).

Shapes: T words of a text, Q words of a question, B questions, V known words.
"""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from normcore.data import questions
from normcore.data.questions import ENTITY, PLACEHOLDER, Question, Questions, vocabulary
from normcore.figures import Figure, as_json
from normcore.figures.attention import attention
from normcore.models.attentive_reader import AttentiveReader
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec.models import attentive_reader as models
from normcore.spec.tasks import attentive_reader as spec
from normcore.tasks.task import Loss, Resources, even_batches, in_batches

EVALUATION_BATCH = 100
TITLE = 80  # characters in a line of a figure's title
POPULATION = 2000  # training questions whose statistics are averaged


class Batch(NamedTuple):
    """Batch of questions: texts, questions, and for each question the number of the word that fills the blank (B,)."""

    text: Words
    question: Words
    answers: Tensor


class EncodedQuestion(NamedTuple):
    """Question encoded as numbers of words."""

    text: Tensor
    question: Tensor
    answer: int


class AttentiveReaderTask:
    """Task of filling the blank of a question about a text.

    Numbers of words: 0 is an unknown word, 1 the blank; then come the entities, then the known words, the most frequent
    first.

    Deviation: validation goes over all questions in batches of ``EVALUATION_BATCH``, and batch norms use the statistics
    of these batches. The authors' code validates in batches of the training's size, and leaves out the last, smaller
    batch.
    """

    def __init__(self, options: spec.AttentiveReader, resources: Resources, given: Questions | None = None) -> None:
        if given is None:
            given = questions.load(
                spec.DATASETS[options.dataset], resources.datasets_dir, full=options.passage == "full"
            )
        self.checksums: Mapping[str, str] = given.checksums
        self._resources = resources
        held_out = [part[: options.examples] for part in (given.valid, given.test)]
        self._entities = 1 + max(_largest_entity(part) for part in (given.train, *held_out))
        self._words = [
            *("?", PLACEHOLDER),
            *(f"@entity{k}" for k in range(self._entities)),
            *vocabulary(given.train, options.vocabulary),
        ]
        number = {word: k for k, word in enumerate(self._words)}
        self._train, self._valid, self._test = (
            [_encode_question(question, number) for question in part] for part in (given.train, *held_out)
        )
        self._cannot = 1 - sum(question.can_be_answered for question in held_out[0]) / len(held_out[0])
        self.no_skill = _always_the_same(self._test)

    def model(self, build: Build) -> AttentiveReader:
        assert isinstance(build.options, models.AttentiveReaderModel)
        return AttentiveReader(build, build.options, len(self._words))

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """Draw questions with replacement, as many as the training set has (RBN Appendix C)."""
        there = len(self._train)
        return in_batches(torch.randint(there, (there,), generator=generator), batch_size)

    def batch(self, examples: Tensor, generator: torch.Generator) -> Batch:
        """Make a batch. Entities get new random numbers, so that a model can learn about them only from the text."""
        renamed = torch.arange(len(self._words))
        renamed[2 : 2 + self._entities] = 2 + torch.randperm(self._entities, generator=generator)
        return self._batch([self._train[k] for k in examples.tolist()], renamed)

    def loss(self, model: AttentiveReader, batch: Batch) -> Loss:
        return Loss(F.cross_entropy(model(batch.text, batch.question), batch.answers))

    def population(self) -> Iterator[Batch]:
        return self._in_batches(self._train[:POPULATION])

    def observe(self, model: AttentiveReader, batch: Batch) -> None:
        model(batch.text, batch.question)

    def validate(self, model: AttentiveReader) -> dict[str, float]:
        """Loss and error rate on validation data, and the floor: the share of questions
        whose answer is not in the filtered text."""
        return {**self._score(model, self._valid), "floor": self._cannot}

    def test(self, model: AttentiveReader) -> dict[str, float]:
        return {"error_rate": self._score(model, self._test)["error_rate"]}

    def artifacts(self, model: AttentiveReader) -> Mapping[str, Callable[[], bytes]]:
        return {"figures/attention.json": lambda: as_json(self._attention(model))}

    def _score(self, model: AttentiveReader, part: Sequence[EncodedQuestion]) -> dict[str, float]:
        loss = torch.zeros((), dtype=torch.float64, device=self._resources.device)
        wrong = torch.zeros_like(loss)
        for batch in self._in_batches(part):
            logits = model(batch.text, batch.question)
            loss += F.cross_entropy(logits, batch.answers, reduction="sum").double()
            wrong += (logits.argmax(1) != batch.answers).sum()
        return {"loss": loss.item() / len(part), "error_rate": wrong.item() / len(part)}

    def _in_batches(self, part: Sequence[EncodedQuestion]) -> Iterator[Batch]:
        for numbers in even_batches(torch.arange(len(part)), EVALUATION_BATCH):
            yield self._batch([part[k] for k in numbers.tolist()])

    def _batch(self, part: Sequence[EncodedQuestion], renamed: Tensor | None = None) -> Batch:
        answers = torch.tensor([question.answer for question in part])
        return Batch(
            self._words_of([question.text for question in part], renamed),
            self._words_of([question.question for question in part], renamed),
            (answers if renamed is None else renamed[answers]).to(self._resources.device),
        )

    def _words_of(self, sequences: Sequence[Tensor], renamed: Tensor | None) -> Words:
        named = sequences if renamed is None else [renamed[codes] for codes in sequences]
        return Words.of(named, self._resources.device)

    @torch.no_grad()
    def _attention(self, model: AttentiveReader) -> Figure:
        """Figure of the attention for the first validation question; the question is the figure's title."""
        shown = self._valid[0]
        batch = self._batch([shown])
        weights = model.attention(batch.text, batch.question).cpu().tolist()
        asked = " ".join(self._words[k] for k in shown.question.tolist())
        words = [self._words[k] for k in shown.text.tolist()]
        title = "<br>".join(textwrap.wrap(f"{asked} ({self._words[shown.answer]})", TITLE))
        return attention(weights, words, title, "question", "text")


def _encode_question(question: Question, number: Mapping[str, int]) -> EncodedQuestion:
    text = [number.get(word, 0) for sentence in question.passage for word in sentence]
    asked = [number.get(word, 0) for word in question.question]
    return EncodedQuestion(torch.tensor(text), torch.tensor(asked), number[question.answer])


def _largest_entity(part: Sequence[Question]) -> int:
    return max(
        int(match[1])
        for question in part
        for sentence in (*question.passage, question.question, [question.answer])
        for word in sentence
        if (match := ENTITY.fullmatch(word))
    )


def _always_the_same(part: Sequence[EncodedQuestion]) -> float:
    """Error rate of always giving the most frequent answer."""
    (_, right), *_ = Counter(question.answer for question in part).most_common(1)
    return 1 - right / len(part)
