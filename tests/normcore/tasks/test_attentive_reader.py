"""Data and error rate of the task ``attentive_reader``."""

import json
from typing import Any

import pytest
import torch
from torch.nn import functional

from normcore.data.questions import Question, Questions
from normcore.models import attentive_reader as models
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec import InvalidSpec, TrainingSpec, resolve
from normcore.spec.tasks.attentive_reader import AttentiveReader
from normcore.tasks.attentive_reader import AttentiveReaderTask
from normcore.tasks.task import Resources
from tests.normcore.figures.structure import check
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")
ENTITIES = 4


def smoke(method: str = "none", **parts: Any) -> TrainingSpec:
    task = {"name": "attentive_reader", "profile": "smoke", **parts.pop("task", {})}
    return training_spec({"task": task, "norm": {"method": method}, **parts})


def question(k: int) -> Question:
    """Make a question whose answer is the entity before the word ``went``."""
    who, other = f"@entity{k % ENTITIES}", f"@entity{(k + 1) % ENTITIES}"
    passage = [f"{who} went home .".split(), [other, "stayed", *["there"] * (k % 3), "."]]
    return Question(passage, ["@placeholder", "went", "away"], who)


def asked(train: int = 11, valid: int = 5, test: int = 6) -> Questions:
    made = [question(k) for k in range(train + valid + test)]
    return Questions(made[:train], made[train : train + valid], made[train + valid :], {"q": "0"})


def built(spec: TrainingSpec, of: Questions | None = None) -> tuple[AttentiveReaderTask, models.AttentiveReader]:
    torch.manual_seed(0)
    task = AttentiveReaderTask(spec.task, Resources(None, CPU, torch.float64), of or asked())  # type: ignore[arg-type]
    return task, task.model(Build(spec.model, spec.norm, "auto", CPU, torch.float64)).double()


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def sequences(words: Words) -> list[list[int]]:
    return [words.codes[:length, b].tolist() for b, length in enumerate(words.lengths.tolist())]


WORDS = ["?", "@placeholder", *(f"@entity{k}" for k in range(ENTITIES)), ".", "went", "away", "home", "stayed", "there"]


def as_said(codes: list[int]) -> str:
    return " ".join(WORDS[code] for code in codes)


def test_entities_get_the_same_new_names_in_a_whole_batch() -> None:
    task, _ = built(smoke())
    batch = task.batch(torch.arange(11), generator())
    texts, questions = sequences(batch.text), sequences(batch.question)
    answers = batch.answers.tolist()
    renamed = {}
    for k, (text, answer) in enumerate(zip(texts, answers, strict=True)):
        own = question(k)
        assert text[0] == answer, "the text and its answer are renamed alike"
        renamed[own.answer] = answer
        back = {text[0]: own.answer, text[4]: own.passage[1][0]}
        shown = [back.get(code, WORDS[code]) for code in text]
        assert shown == [word for sentence in own.passage for word in sentence]
        assert as_said(questions[k]) == "@placeholder went away"
    assert sorted(renamed.values()) == [2, 3, 4, 5], "a permutation, the same for the whole batch"
    drawn = {tuple(task.batch(torch.arange(4), torch.Generator().manual_seed(k)).answers.tolist()) for k in range(40)}
    assert len(drawn) > 15, "of 24 permutations"


def test_epoch_draws_training_questions_with_replacement() -> None:
    task, _ = built(smoke())
    epochs = [torch.cat(list(task.epoch(torch.Generator().manual_seed(k), 4))).tolist() for k in range(200)]
    assert {len(drawn) for drawn in epochs} == {11}
    assert {code for drawn in epochs for code in drawn} == set(range(11))
    distinct = sum(len(set(drawn)) for drawn in epochs) / len(epochs)
    assert abs(distinct - 11 * (1 - (10 / 11) ** 11)) < 0.25


def test_words_missing_in_training_share_a_code() -> None:
    of = asked()
    strange = of.valid[0]._replace(question=["@placeholder", "vanished", "away"])
    task, model = built(smoke(), Questions(of.train, [strange, *of.valid[1:]], of.test, {}))
    seen: list[list[list[int]]] = []
    model.register_forward_pre_hook(lambda _, given: seen.append(sequences(given[1])))
    with torch.no_grad():
        task.validate(model.eval())
    assert seen[0][0] == [1, 0, WORDS.index("away")]


def alone(model: models.AttentiveReader, one: Question) -> torch.Tensor:
    text = torch.tensor([WORDS.index(word) for sentence in one.passage for word in sentence])
    asks = torch.tensor([WORDS.index(word) for word in one.question])
    with torch.no_grad():
        logits: torch.Tensor = model(Words.of([text], CPU), Words.of([asks], CPU))
    return logits


def test_validation_and_test_keep_the_names_of_the_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normcore.tasks.attentive_reader.EVALUATION_BATCH", 2)
    of = asked()
    task, model = built(smoke("layer_norm"), of)
    model.eval()
    expected = {}
    for name, part in (("valid", of.valid), ("test", of.test)):
        logits = torch.cat([alone(model, one) for one in part])
        answers = torch.tensor([WORDS.index(one.answer) for one in part])
        wrong = (logits.argmax(1) != answers).double().mean().item()
        expected[name] = wrong, functional.cross_entropy(logits, answers).item()
    with torch.no_grad():
        wrong, loss = expected["valid"]
        assert task.validate(model) == {"loss": pytest.approx(loss), "error_rate": pytest.approx(wrong), "floor": 0.0}
        assert task.test(model) == {"error_rate": pytest.approx(expected["test"][0])}


def test_floor_is_the_share_of_questions_without_their_answer_in_the_text() -> None:
    of = asked()
    gone = [one._replace(passage=[["nobody", "."]]) for one in of.valid[:2]]
    task, model = built(smoke(), Questions(of.train, [*gone, *of.valid[2:]], of.test, {}))
    with torch.no_grad():
        assert task.validate(model.eval())["floor"] == pytest.approx(2 / 5)


def test_no_skill_is_to_always_answer_the_most_frequent_entity() -> None:
    """Entity 0 is the answer of two of the six test questions."""
    task, _ = built(smoke())
    assert [one.answer for one in asked().test].count("@entity0") == 2
    assert task.no_skill == pytest.approx(4 / 6)


def test_model_learns_to_answer_from_the_text() -> None:
    """The model cannot learn names, because they change with every batch."""
    task, model = built(smoke(), asked(train=24))
    adam = torch.optim.Adam(model.parameters(), 0.05)
    random = generator()
    for _ in range(150):
        adam.zero_grad()
        torch.autograd.backward(task.loss(model, task.batch(torch.arange(24), random)).total)
        adam.step()
    with torch.no_grad():
        assert task.test(model.eval())["error_rate"] == 0


def test_picture_shows_attention_on_the_words_of_a_text() -> None:
    task, model = built(smoke("layer_norm"))
    figure = json.loads(task.artifacts(model.eval())["figures/attention.json"]())
    check(figure)
    (heat,) = figure["data"]
    columns = torch.tensor(heat["z"]).flatten()
    words = [word for sentence in asked().valid[0].passage for word in sentence]
    assert len(columns) == len(words)
    assert columns.sum().item() == pytest.approx(1, abs=1e-3)
    assert asked().valid[0].answer in figure["layout"]["title"]["text"]


def test_sample_data_set_without_full_texts_is_refused_for_whole_texts() -> None:
    with pytest.raises(InvalidSpec, match="cnn_sample has four sentences of each text; use four_sentences") as refused:
        resolve({"task": {"name": "attentive_reader", "profile": "smoke", "passage": "full"}})
    assert [error.loc for error in refused.value.errors] == [("task", "passage")]


def test_cost_of_the_paper_profile_is_that_of_the_protocol() -> None:
    """The protocols say some 33 GFLOP per update at 150 words of text. Ours adds the question and the softmax."""
    spec = resolve({"task": {"name": "attentive_reader", "profile": "paper"}, "norm": {"method": "none"}})
    assert isinstance(spec, TrainingSpec)
    assert isinstance(spec.task, AttentiveReader)
    cost = spec.task.cost(spec.model)
    assert cost is not None
    assert cost.parameters == 32_934_550
    assert cost.flop_of_update(64) / 1e9 == pytest.approx(33 + 33 * 20 / 150 + 6 * 64 * 240 * 65_830 / 1e9, rel=0.02)
