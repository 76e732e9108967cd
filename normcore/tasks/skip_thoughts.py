"""Task: predict the sentences before and after a sentence from its vector; the vectors are tested on other tasks (LN
section 6.3).

Shapes: T words, B sentences, sentence vectors of H numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from normcore import downstream
from normcore.data import sentence_sets, triples, word_vectors
from normcore.data.sentence_sets import Pair, Sentence, SentenceSets
from normcore.data.triples import END, UNKNOWN, Text, Triples
from normcore.downstream.relatedness import Pairs
from normcore.models.build import Build
from normcore.models.skip_thoughts import SkipThoughts
from normcore.models.words import Words
from normcore.spec.models import skip_thoughts as models
from normcore.spec.tasks import skip_thoughts as spec
from normcore.tasks.task import Loss, Resources, even_batches, in_batches

EVALUATION_BATCH = 200
POPULATION = 5000  # training sentences whose statistics are averaged
VALIDATED = 1000  # triples, spread evenly over the validation text


class Batch(NamedTuple):
    """Batch of triples: middle sentences, the sentences before them, and the sentences after them."""

    middle: Words
    before: Words
    after: Words


class SkipThoughtsTask:
    """Task of training sentence vectors on triples of sentences. A batch has middle sentences of equal length."""

    no_skill = 0.0

    def __init__(
        self,
        options: spec.SkipThoughts,
        resources: Resources,
        given: tuple[Triples, SentenceSets] | None = None,
    ) -> None:
        if given is None:
            text = triples.load(options.dataset, resources.datasets_dir, options.vocabulary)
            given = text, sentence_sets.load(resources.datasets_dir)
        text, sets = given
        self.checksums: Mapping[str, str] = {**text.checksums, **sets.checksums}
        self._resources = resources
        self._text = text
        self._sets = sets.first(options.examples)
        self._number = {word: k for k, word in enumerate(text.words)}
        self._vectors: Mapping[str, np.ndarray] = {}
        if options.word_vectors:
            wanted = {*text.words, *_words_of(self._sets)}
            self._vectors, checksums = word_vectors.load(wanted, resources.datasets_dir)
            self.checksums = {**self.checksums, **checksums}

    def model(self, build: Build) -> SkipThoughts:
        assert isinstance(build.options, models.SkipThoughtsModel)
        return SkipThoughts(build, build.options, len(self._text.words))

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """Batches of triples in random order; all middle sentences of a batch have the same length.

        The last batch of a length may be smaller; it is left out if it has a single triple.
        """
        lengths = self._text.train.lengths
        batches: list[Tensor] = []
        for length in sorted(set(lengths.tolist())):
            own = (lengths == length).nonzero().squeeze(1)
            own = own[torch.randperm(len(own), generator=generator)]
            batches += in_batches(own, batch_size) if len(own) > 1 or batch_size == 1 else []
        if not batches:
            raise ValueError("no two training sentences are of one length, so there are no batches; take a longer text")
        return [batches[k] for k in torch.randperm(len(batches), generator=generator).tolist()]

    def batch(self, examples: Tensor, generator: torch.Generator) -> Batch:
        return self._batch(self._text.train, examples)

    def loss(self, model: SkipThoughts, batch: Batch) -> Loss:
        """Loss of a batch: the sum over all words, as in the authors' code; the part ``per_word`` is the mean."""
        total = model(*batch).sum()
        words = batch.before.lengths.sum() + batch.after.lengths.sum()
        return Loss(total, {"per_word": total / words})

    def population(self) -> Iterator[Batch]:
        text = self._text.train
        for examples in even_batches(torch.arange(min(POPULATION, len(text.middles))), EVALUATION_BATCH):
            yield self._batch(text, examples)

    def observe(self, model: SkipThoughts, batch: Batch) -> None:
        model(*batch)

    def validate(self, model: SkipThoughts) -> dict[str, float]:
        """Loss (nats for each word of held-out text), and scores of the vectors on the other tasks (LN Fig. 3).

        SICK is scored on its own validation pairs. The other sets are scored with one fixed C of the logistic
        regression; ``test`` chooses C by cross-validation.
        """
        text = self._text.valid
        chosen = (
            torch.arange(min(VALIDATED, len(text.middles))) * len(text.middles) // min(VALIDATED, len(text.middles))
        )
        cost = torch.zeros((), dtype=torch.float64, device=self._resources.device)
        words = torch.zeros_like(cost)
        for examples in even_batches(chosen, EVALUATION_BATCH):
            batch = self._batch(text, examples)
            cost += model(*batch).double().sum()
            words += batch.before.lengths.sum() + batch.after.lengths.sum()
        embedding = self._embedding(model)
        found = self._relatedness(model, embedding, "valid")
        scores = {name: self._opinion(model, embedding, name, downstream.plain_accuracy) for name in spec.OPINIONS}
        return {"loss": (cost / words).item(), **found, **scores}

    def test(self, model: SkipThoughts) -> dict[str, float]:
        embedding = self._embedding(model)
        scores = {name: self._opinion(model, embedding, name, downstream.nested_accuracy) for name in spec.OPINIONS}
        return {**self._relatedness(model, embedding, "test"), **scores}

    def artifacts(self, model: SkipThoughts) -> Mapping[str, Callable[[], bytes]]:
        return {"neighbours.txt": lambda: self._neighbours(model).encode()}

    def _batch(self, text: Text, examples: Tensor) -> Batch:
        middles = text.middles[examples].tolist()
        end = torch.tensor([END])
        device = self._resources.device
        middle, before, after = (
            Words.of([torch.cat([text.sentence(number + to), end]) for number in middles], device) for to in (0, -1, 1)
        )
        return Batch(middle, before, after)

    def _relatedness(self, model: SkipThoughts, embedding: "_Embedding", split: str) -> dict[str, float]:
        parts = [self._pairs(model, embedding, self._sets.sick[name]) for name in ("train", "valid", split)]
        pearson, spearman, mse = downstream.relatedness(*parts)
        return {"sick_pearson": pearson, "sick_spearman": spearman, "sick_mse": mse}

    def _pairs(self, model: SkipThoughts, embedding: "_Embedding", pairs: Sequence[Pair]) -> Pairs:
        first, second = (
            self._encode_sentences(model, embedding, [pair[k] for pair in pairs], ends=True)  # type: ignore[misc]
            for k in (0, 1)
        )
        return Pairs(first, second, np.array([pair.score for pair in pairs]))

    def _opinion(
        self,
        model: SkipThoughts,
        embedding: "_Embedding",
        name: str,
        accuracy: Callable[[np.ndarray, np.ndarray], float],
    ) -> float:
        no, yes = self._sets.opinions[name]
        vectors = self._encode_sentences(model, embedding, [*no, *yes])
        return accuracy(vectors, np.array([0] * len(no) + [1] * len(yes)))

    @torch.no_grad()
    def _encode_sentences(
        self, model: SkipThoughts, embedding: "_Embedding", sentences: Sequence[Sentence], *, ends: bool = False
    ) -> np.ndarray:
        """Encode sentences as vectors (N, H) of length 1.

        Args:
            ends: whether the model also reads a sentence's end mark; the authors' code does so only for SICK.
        """
        codes = [
            torch.tensor([*(embedding.number.get(word, UNKNOWN) for word in sentence), *([END] if ends else [])])
            for sentence in sentences
        ]
        order = torch.tensor([len(own) for own in codes]).argsort(stable=True)
        found = None
        for part in even_batches(order, EVALUATION_BATCH):
            words = Words.of([codes[k] for k in part.tolist()], self._resources.device)
            network = model.encoder.network
            _, end = network(embedding.weight[words.codes], words.lengths, longest=words.longest)
            vectors = functional.normalize(end.cells[-1].h, dim=1).double().cpu().numpy()
            found = np.empty((len(codes), vectors.shape[1])) if found is None else found
            found[part.numpy()] = vectors
        assert found is not None
        return found

    @torch.no_grad()
    def _embedding(self, model: SkipThoughts) -> "_Embedding":
        """Word vectors of the model, extended by words that only word2vec has.

        A linear map, fitted on the words that the two share, maps word2vec's vectors to the model's (Kiros et al.,
        section 2.2).
        """
        own = model.encoder.embedding.weight.detach()
        shared = [word for word in self._text.words if word in self._vectors]
        strange = [word for word in self._vectors if word not in self._number]
        if not shared or not strange:
            return _Embedding(own, self._number)
        known = np.stack([self._vectors[word] for word in shared]).astype(np.float64)
        places = [self._number[word] for word in shared]
        with_one = np.concatenate([known, np.ones((len(known), 1))], 1)
        fitted, *_ = np.linalg.lstsq(with_one, own[places].double().cpu().numpy(), rcond=None)
        others = np.stack([self._vectors[word] for word in strange]).astype(np.float64)
        mapped = np.concatenate([others, np.ones((len(others), 1))], 1) @ fitted
        number = {**self._number, **{word: len(own) + k for k, word in enumerate(strange)}}
        return _Embedding(torch.cat([own, torch.from_numpy(mapped).to(own)]), number)

    def _neighbours(self, model: SkipThoughts, shown: int = 20) -> str:
        """Text with the nearest other sentence of each of ``shown`` SICK sentences, by the cosine of their vectors."""
        sentences = list(dict.fromkeys(tuple(pair.first) for pair in self._sets.sick["test"]))
        vectors = self._encode_sentences(model, self._embedding(model), sentences, ends=True)
        cosines = vectors @ vectors.T - 2 * np.eye(len(vectors))
        lines = []
        for k in range(min(shown, len(sentences))):
            nearest = int(cosines[k].argmax())
            lines.append(f"{' '.join(sentences[k])}\n    {cosines[k, nearest]:.3f}  {' '.join(sentences[nearest])}\n")
        return "".join(lines)


class _Embedding(NamedTuple):
    """Word vectors (V, E), and the number (row) of each word."""

    weight: Tensor
    number: Mapping[str, int]


def _words_of(sets: SentenceSets) -> set[str]:
    pairs = (sentence for part in sets.sick.values() for pair in part for sentence in (pair.first, pair.second))
    others = (sentence for both in sets.opinions.values() for side in both for sentence in side)
    return {word for sentences in (pairs, others) for sentence in sentences for word in sentence}
