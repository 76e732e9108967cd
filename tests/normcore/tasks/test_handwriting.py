"""Data and cost of the task ``handwriting``."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore.data.handwriting import Handwriting, encode_text
from normcore.data.iam_ondb import HandwrittenLine
from normcore.figures.pen import svg
from normcore.models import handwriting as models
from normcore.models.build import Build
from normcore.models.pen_mixture import PenMixture
from normcore.models.soft_window import Window
from normcore.spec import InvalidSpec, TrainingSpec, resolve
from normcore.tasks.handwriting import SAMPLES, Batch, HandwritingTask
from normcore.tasks.task import Resources
from tests.normcore.figures.structure import check
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")


def smoke(method: str = "none", **parts: Any) -> TrainingSpec:
    task = {"name": "handwriting", "profile": "smoke", **parts.pop("task", {})}
    return training_spec({"task": task, "norm": {"method": method}, **parts})


def lines(seed: int = 0, train: int = 11, valid: int = 5) -> Handwriting:
    random = torch.Generator().manual_seed(seed)

    def line(k: int) -> HandwrittenLine:
        points = torch.randn(4 + k % 5, 3, generator=random) * torch.tensor([3.0, 2.0, 1.0]) + torch.tensor([1.0, 0, 0])
        points[:, 2] = (points[:, 2] > 0.5).float()
        return HandwrittenLine(f"a01-{k:03}", points, "abc"[: 1 + k % 3])

    made = [line(k) for k in range(train + valid)]
    return Handwriting(made[:train], made[train:], torch.tensor([1.0, 0.0]), torch.tensor([3.0, 2.0]), {"p": "0"})


def built(spec: TrainingSpec, of: Handwriting | None = None) -> tuple[HandwritingTask, models.Handwriting]:
    torch.manual_seed(0)
    task = HandwritingTask(spec.task, Resources(None, CPU, torch.float64), of or lines())  # type: ignore[arg-type]
    return task, task.model(Build(spec.model, spec.norm, "auto", CPU, torch.float64)).double()


def test_batch_holds_lines_and_their_texts() -> None:
    of = lines()
    task, _ = built(smoke(), of)
    generator = torch.Generator().manual_seed(0)
    epoch = task.epoch(generator, 4)
    assert torch.cat(list(epoch)).sort().values.tolist() == list(range(11))
    batch = task.batch(torch.tensor([0, 2]), generator)
    assert batch.points.shape == (6, 2, 3)
    assert batch.lengths.tolist() == [3, 5]
    assert batch.longest == 5
    for b, line in enumerate((of.train[0], of.train[2])):
        own = batch.points[: len(line.points), b]
        expected = (line.points[:, :2] - torch.tensor([1.0, 0.0])) / torch.tensor([3.0, 2.0])
        torch.testing.assert_close(own[:, :2].float(), expected)
        assert torch.equal(own[:, 2].float(), line.points[:, 2])
        assert not batch.points[len(line.points) :, b].any()
        characters = batch.text.characters[b, : len(line.text)]
        assert torch.equal(characters.argmax(1), encode_text(line.text))
        assert characters.sum() == batch.text.lengths[b] == len(line.text)


def test_lines_are_cut_to_their_first_points() -> None:
    task, _ = built(smoke(task={"points": 5}))
    batch = task.batch(torch.arange(11), torch.Generator())
    assert batch.points.shape[0] == 5
    assert batch.lengths.max() == 4


def nats(model: models.Handwriting, batch: Batch, b: int) -> float:
    """Compute the nats of a single line."""
    steps, characters = int(batch.lengths[b]), int(batch.text.lengths[b])
    points = batch.points[: steps + 1, b : b + 1]
    said = models.Text(batch.text.characters[b : b + 1, :characters], batch.text.lengths[b : b + 1])
    with torch.no_grad():
        numbers = model(points[:-1], batch.lengths[b : b + 1], steps, said)
        return PenMixture.of(numbers).cost(points[1:]).sum().item()


def test_the_loss_is_the_mean_of_lines_without_their_padding() -> None:
    task, model = built(smoke())
    batch = task.batch(torch.arange(5), torch.Generator())
    expected = np.mean([nats(model, batch, b) for b in range(5)])
    assert task.loss(model, batch).total.item() == pytest.approx(expected, rel=1e-10)


def test_validation_and_test_use_the_lines_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normcore.tasks.handwriting.EVALUATION_BATCH", 2)
    task, model = built(smoke())
    of = lines()
    held_out, _ = built(smoke(), Handwriting(of.valid, of.train, of.mean, of.deviation, {}))
    batch = held_out.batch(torch.arange(5), torch.Generator())
    expected = np.mean([nats(model, batch, b) for b in range(5)])
    with torch.no_grad():
        assert task.validate(model) == {
            "loss": pytest.approx(expected, rel=1e-10),
            "nats": pytest.approx(expected, rel=1e-10),
        }
        assert task.test(model) == {"nats": pytest.approx(expected, rel=1e-10)}


def test_no_skill_is_to_know_the_moments_of_the_training_lines() -> None:
    of = lines()
    task, _ = built(smoke(), of)
    parts = [torch.cat([of.standardize_line(line, 99)[1:] for line in part]).double() for part in (of.train, of.valid)]
    train, valid = (part.numpy() for part in parts)
    mean, covariance = train[:, :2].mean(0), np.cov(train[:, :2].T)
    lifted = (train[:, 2].sum() + 1) / (len(train) + 2)
    total = 0.0
    for dx, dy, end in valid:
        away = np.array([dx, dy]) - mean
        total += 0.5 * away @ np.linalg.inv(covariance) @ away
        total += math.log(2 * math.pi) + 0.5 * math.log(np.linalg.det(covariance))
        total -= math.log(lifted if end else 1 - lifted)
    assert task.no_skill == pytest.approx(total / len(of.valid), rel=1e-5)


def test_network_that_writes_a_line_of_the_data_draws_that_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake network writes a line of the data, point by point."""
    of = lines()
    task, model = built(smoke(task={"text": "abc"}), of)
    line = of.train[4]
    asked: list[Tensor] = []

    def write(text: models.Text, first: Tensor, generator: torch.Generator, most: int) -> Iterator[models.PenPoint]:
        asked.append(first)
        window = Window.before(text.characters, 1)  # the window is never beyond the text
        for point in of.standardize_line(line, 999)[1:]:
            yield models.PenPoint(point.expand(len(text.lengths), 3), window)

    monkeypatch.setattr(model, "write", write)
    drawn, own = task.artifacts(model)["written.svg"](), svg([line.points[1:]] * SAMPLES, "abc")
    assert numbers(drawn) == pytest.approx(numbers(own), abs=0.11)
    [first] = asked
    assert first.tolist() == pytest.approx([-1 / 3, 0.0, 0.0]), "a pen that has not moved yet"


def numbers(picture: bytes) -> list[float]:
    return [float(number) for number in re.findall(rb"\d+\.\d", picture)]


def test_pictures_show_written_lines_and_the_attention_window() -> None:
    spec = smoke("layer_norm", task={"text": "a<b"})
    task, model = built(spec)
    files = {name: draw() for name, draw in task.artifacts(model.eval()).items()}
    assert set(files) == {"written.svg", "figures/window.json", "figures/mixture.json"}
    title, *_ = ElementTree.fromstring(files["written.svg"])
    assert title.text == "a<b"
    window, mixture = (json.loads(files[f"figures/{name}.json"]) for name in ("window", "mixture"))
    check(window)
    check(mixture)
    [line] = [lines().valid[0]]
    assert len(window["data"][0]["z"]) == len(line.text)
    assert len(window["data"][0]["x"]) == len(line.points) - 1
    assert window["layout"]["yaxis"]["ticktext"] == list(line.text)
    columns = np.array(mixture["data"][0]["z"]).sum(0)
    np.testing.assert_allclose(columns, 1, atol=1e-3)
    assert files == {name: draw() for name, draw in task.artifacts(model).items()}


def test_text_with_letters_outside_the_alphabet_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="expected printable ASCII, received 'ü'; leave it out") as refused:
        resolve({"task": {"name": "handwriting", "text": "für"}, "norm": {"method": "none"}})
    assert [error.loc for error in refused.value.errors] == [("task", "text")]


def test_cost_of_the_paper_profile_is_that_of_the_protocol() -> None:
    """The protocols say 88 GFLOP per update of 8 lines of 500 points."""
    spec = training_spec({"task": {"name": "handwriting", "profile": "paper"}, "norm": {"method": "none"}})
    cost = spec.task.cost(spec.model)
    assert cost is not None
    assert cost.parameters == 3_650_151
    assert cost.flop_of_update(8) == pytest.approx(88e9, rel=0.05)
