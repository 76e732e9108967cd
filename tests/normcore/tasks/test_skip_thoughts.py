"""Data of the task ``skip_thoughts``, and evaluations of its sentence vectors."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normcore import downstream
from normcore.data.sentence_sets import Pair, SentenceSets
from normcore.data.triples import END, UNKNOWN, Text, Triples
from normcore.downstream import classification
from normcore.downstream.relatedness import Pairs
from normcore.models import skip_thoughts as models
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec import TrainingSpec
from normcore.spec.tasks.skip_thoughts import METRICS, OPINIONS
from normcore.tasks.skip_thoughts import SkipThoughtsTask
from normcore.tasks.task import Resources
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")
WORDS = ["<eos>", "UNK", *(f"w{k}" for k in range(20))]


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train the regression of SICK in rounds of 10 epochs, not 100."""
    monkeypatch.setattr(import_module("normcore.downstream.relatedness"), "EPOCHS", 10)


def smoke(method: str = "none", **task: Any) -> TrainingSpec:
    written = {"name": "skip_thoughts", "profile": "smoke", **task}
    return training_spec({"task": written, "norm": {"method": method}})


def text(seed: int, sentences: int = 40) -> Text:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 6, (sentences,), generator=random)
    codes = torch.randint(1, len(WORDS), (int(lengths.sum()),), generator=random, dtype=torch.int32)
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    return Text(codes, starts, torch.arange(1, sentences - 1))


def said(random: np.random.RandomState, words: list[str] | None = None) -> list[str]:
    return list(random.choice(words or [*WORDS[2:], "strange"], random.randint(1, 6)))


def sets(seed: int = 0) -> SentenceSets:
    random = np.random.RandomState(seed)
    sick = {
        split: [Pair(said(random), said(random), 1 + 4 * random.rand()) for _ in range(30)]
        for split in ("train", "valid", "test")
    }
    opinions = {
        name: ([said(random, WORDS[2:12]) for _ in range(20)], [said(random, WORDS[11:]) for _ in range(20)])
        for name in OPINIONS
    }
    return SentenceSets(sick, opinions, {"s": "1"})


def built(spec: TrainingSpec, of: SentenceSets | None = None) -> tuple[SkipThoughtsTask, models.SkipThoughts]:
    torch.manual_seed(0)
    triples = Triples(text(0), text(1), WORDS, {"t": "0"})
    resources = Resources(None, CPU, torch.float64)
    task = SkipThoughtsTask(spec.task, resources, (triples, of or sets()))  # type: ignore[arg-type]
    model = task.model(Build(spec.model, spec.norm, "auto", CPU, torch.float64)).double()
    return task, model.eval()


def sequences(words: Words) -> list[list[int]]:
    return [words.codes[:length, b].tolist() for b, length in enumerate(words.lengths.tolist())]


def test_batches_have_one_length_and_an_epoch_leaves_out_only_single_triples() -> None:
    task, _ = built(smoke())
    epoch = task.epoch(torch.Generator().manual_seed(0), 4)
    of = text(0)
    lengths = of.lengths
    for examples in epoch:
        assert 2 <= len(examples) <= 4
        assert len(set(lengths[examples].tolist())) == 1
    seen = torch.cat(list(epoch)).sort().values.tolist()
    assert len(seen) == len(set(seen))
    single = sum(int(count) % 4 == 1 for count in lengths.bincount())
    assert len(seen) == len(of.middles) - single
    orders = {tuple(int(lengths[e[0]]) for e in task.epoch(torch.Generator().manual_seed(k), 4)) for k in range(9)}
    assert len(orders) > 1, "batches come in random order, not by length"


def test_epoch_with_batches_of_one_has_every_triple() -> None:
    task, _ = built(smoke())
    epoch = task.epoch(torch.Generator().manual_seed(0), 1)
    assert {len(examples) for examples in epoch} == {1}
    assert torch.cat(list(epoch)).sort().values.tolist() == list(range(38))


def test_data_without_two_sentences_of_equal_length_is_refused() -> None:
    of = Text(torch.ones(15, dtype=torch.int32), torch.tensor([0, 1, 3, 6, 10, 15]), torch.arange(1, 4))
    resources = Resources(None, CPU, torch.float64)
    task = SkipThoughtsTask(smoke().task, resources, (Triples(of, of, WORDS, {}), sets()))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no two training sentences are of one length"):
        task.epoch(torch.Generator(), 4)
    assert len(task.epoch(torch.Generator(), 1)) == 3


def test_batch_holds_sentences_and_their_neighbours_with_end_symbols() -> None:
    task, _ = built(smoke())
    batch = task.batch(torch.tensor([0, 6]), torch.Generator())
    of = text(0)
    for b, middle in enumerate((1, 7)):
        for words, number in ((batch.middle, middle), (batch.before, middle - 1), (batch.after, middle + 1)):
            assert sequences(words)[b] == [*of.sentence(number).tolist(), END]


def test_the_loss_is_the_sum_over_sentences_and_words() -> None:
    task, model = built(smoke())
    batch = task.batch(torch.arange(5), torch.Generator())
    one_by_one = [model(*task.batch(torch.tensor([k]), torch.Generator())).item() for k in range(5)]
    loss = task.loss(model, batch)
    assert loss.total.item() == pytest.approx(sum(one_by_one), rel=1e-10)
    words = sum(len(s) for part in (batch.before, batch.after) for s in sequences(part))
    assert loss.parts["per_word"].item() == pytest.approx(sum(one_by_one) / words, rel=1e-10)


def vector(model: models.SkipThoughts, sentence: Any, *, ends: bool) -> np.ndarray:
    """Compute the vector of one sentence, scaled to length 1. All unknown words have the same code."""
    codes = [WORDS.index(word) if word in WORDS else UNKNOWN for word in sentence] + [END] * ends
    with torch.no_grad():
        read = model.encoder(Words.of([torch.tensor(codes)], CPU)).numpy()[0]
    found: np.ndarray = read / np.linalg.norm(read)
    return found


def expected_scores(model: models.SkipThoughts, of: SentenceSets, split: str) -> dict[str, float]:
    """Compute the scores. As in the authors' code, only the sentences of SICK are read with an end symbol."""
    parts = [
        Pairs(
            np.stack([vector(model, pair.first, ends=True) for pair in of.sick[name]]),
            np.stack([vector(model, pair.second, ends=True) for pair in of.sick[name]]),
            np.array([pair.score for pair in of.sick[name]]),
        )
        for name in ("train", "valid", split)
    ]
    relatedness = downstream.relatedness(*parts)
    accuracy = downstream.nested_accuracy if split == "test" else downstream.plain_accuracy
    labels = np.array([0] * 20 + [1] * 20)
    opinions = {
        name: accuracy(np.stack([vector(model, s, ends=False) for side in of.opinions[name] for s in side]), labels)
        for name in OPINIONS
    }
    return {f"sick_{name}": value for name, value in relatedness._asdict().items()} | opinions


def test_test_values_are_those_of_the_five_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classification, "STRENGTHS", (4.0, 256.0))
    monkeypatch.setattr(classification, "FOLDS", 5)
    of = sets()
    task, model = built(smoke("layer_norm"), of)
    with torch.no_grad():
        found = task.test(model)
    assert list(found) == [metric.name for metric in METRICS]
    assert found == {name: pytest.approx(value, abs=1e-6) for name, value in expected_scores(model, of, "test").items()}
    assert np.mean([found[name] for name in OPINIONS]) > 0.6, "the words of both labels differ"


def test_validation_uses_its_own_pairs_and_the_cost_per_word() -> None:
    of = sets()
    task, model = built(smoke(), of)
    with torch.no_grad():
        values = task.validate(model)
        held_out = Triples(text(1), text(0), WORDS, {})
        other = SkipThoughtsTask(smoke().task, Resources(None, CPU, torch.float64), (held_out, of))  # type: ignore[arg-type]
        parts = other.loss(model, other.batch(torch.arange(len(text(1).middles)), torch.Generator())).parts
    assert values.pop("loss") == pytest.approx(parts["per_word"].item(), rel=1e-10)
    expected = expected_scores(model, of, "valid")
    assert values == {name: pytest.approx(value, abs=1e-6) for name, value in expected.items()}


def word2vec(datasets_dir: Path, vectors: dict[str, np.ndarray]) -> None:
    (datasets_dir / "word2vec").mkdir()
    rows = b"".join(word.encode() + b" " + vector.astype("<f4").tobytes() for word, vector in vectors.items())
    path = datasets_dir / "word2vec" / "GoogleNews-vectors-negative300.bin"
    path.write_bytes(f"{len(vectors)} 300\n".encode() + rows)


def test_words_known_only_to_word2vec_are_embedded_by_a_linear_map(tmp_path: Path) -> None:
    """The fake word2vec vectors are the model's own, rotated and shifted, so the map is exact for new words."""
    random = np.random.RandomState(0)
    _, model = built(smoke())
    own = model.encoder.embedding.weight.detach().numpy()
    assert len(own) == len(WORDS)
    turned = np.linalg.qr(random.randn(300, 8))[0].T
    new = 0.1 * random.randn(8)
    vectors = {word: own[k] @ turned + 0.1 for k, word in enumerate(WORDS) if k > 1}
    word2vec(tmp_path, {**vectors, "strange": new @ turned + 0.1, "unheard": np.zeros(300)})
    triples = Triples(text(0), text(1), WORDS, {"t": "0"})
    of = sets()
    with_vectors = smoke(word_vectors=True)
    task = SkipThoughtsTask(with_vectors.task, Resources(tmp_path, CPU, torch.float64), (triples, of))  # type: ignore[arg-type]
    assert set(task.checksums) == {"t", "s", "word2vec/GoogleNews-vectors-negative300.bin"}
    with torch.no_grad():
        found = task.validate(model)
        model.encoder.embedding.weight[UNKNOWN] = torch.from_numpy(new)
    expected = expected_scores(model, of, "valid")
    assert {name: found[name] for name in expected} == {
        name: pytest.approx(value, abs=1e-3) for name, value in expected.items()
    }


def test_artifact_lists_the_nearest_sentences() -> None:
    of = sets()
    task, model = built(smoke(), of)
    first, nearest, *_ = task.artifacts(model)["neighbours.txt"]().decode().split("\n")
    sentences = list(dict.fromkeys(tuple(pair.first) for pair in of.sick["test"]))
    vectors = np.stack([vector(model, sentence, ends=True) for sentence in sentences])
    cosines = vectors[1:] @ vectors[0]
    assert first == " ".join(sentences[0])
    assert nearest.split(maxsplit=1) == [f"{cosines.max():.3f}", " ".join(sentences[1 + int(cosines.argmax())])]


def test_cost_of_the_paper_profile_is_that_of_the_protocol() -> None:
    spec = training_spec({"task": {"name": "skip_thoughts", "profile": "paper"}, "norm": {"method": "none"}})
    cost = spec.task.cost(spec.model)
    assert cost is not None
    assert cost.parameters == 125_673_600
