"""Training data, scores, and statistics of batch norms of the tasks that classify whole images."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from normcore import tasks
from normcore.data import digits
from normcore.data.whitening import Whitening
from normcore.events import Finished, Measured
from normcore.models.build import Build
from normcore.models.conv_net import ConvNet
from normcore.models.feed_forward import FeedForward
from normcore.norms.population import batch_norms, population_statistics
from normcore.spec import TrainingSpec
from normcore.tasks.image_classification import ImageClassification
from normcore.tasks.task import Resources
from normcore.training.evaluation import evaluate
from normcore.training.loop import train
from tests.normcore.evaluations import evaluated
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")
SPLITS = digits.load()


def smoke(name: str = "feedforward", method: str = "none", **parts: Any) -> TrainingSpec:
    task = {"name": name, "profile": "smoke", **parts.pop("task", {})}
    return training_spec({"task": task, "norm": {"method": method}, **parts})


def built(spec: TrainingSpec, dtype: torch.dtype = torch.float32) -> tuple[ImageClassification, nn.Module]:
    torch.manual_seed(0)
    task = tasks.build(spec.task, Resources(None, CPU, dtype))
    assert isinstance(task, ImageClassification)
    return task, task.model(Build(spec.model, spec.norm, "auto", CPU, dtype)).to(dtype)


def test_model_is_built_from_the_spec_in_the_size_of_the_images() -> None:
    _, dense = built(smoke())
    assert isinstance(dense, FeedForward)
    assert [layer.linear.weight.shape for layer in [*dense.layers, dense.output]] == [(32, 64), (32, 32), (10, 32)]
    _, conv = built(smoke("convnet"))
    assert isinstance(conv, ConvNet)
    assert conv(torch.zeros(3, 1, 8, 8)).shape == (3, 10)


def test_an_epoch_has_every_training_image_once_in_its_generators_order() -> None:
    task, _ = built(smoke())
    first = task.epoch(torch.Generator().manual_seed(3), 32)
    again = task.epoch(torch.Generator().manual_seed(3), 32)
    assert torch.cat(list(first)).sort().values.tolist() == list(range(len(SPLITS.train)))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert {len(batch) for batch in first[:-1]} == {32}
    assert not torch.equal(first[0], task.epoch(torch.Generator().manual_seed(4), 32)[0])


def test_the_loss_is_the_mean_cross_entropy_of_the_images() -> None:
    task, model = built(smoke(), torch.float64)
    examples = torch.tensor([3, 1, 4, 1, 5])
    loss = task.loss(model.eval(), task.batch(examples, torch.Generator()))
    with torch.no_grad():
        x = SPLITS.train.pixels[examples].numpy() / 16
        logits = model(torch.from_numpy(x)).numpy()
    labels = SPLITS.train.labels[examples].numpy()
    expected = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(5), labels])
    assert loss.total.item() == pytest.approx(expected, rel=1e-12)
    assert loss.parts == {}


def test_scores_are_of_their_named_split() -> None:
    task, model = built(smoke())
    model.eval()
    with torch.no_grad():
        accuracies = {}
        for name, images in (("valid", SPLITS.valid), ("test", SPLITS.test)):
            chosen = model(images.images(torch.float32)).argmax(1).tolist()
            accuracies[name] = sum(map(int.__eq__, chosen, images.labels.tolist())) / len(images)
        valid, test = task.validate(model), task.test(model)
    assert accuracies["valid"] != accuracies["test"]
    assert (valid["accuracy"], valid["error_rate"]) == (accuracies["valid"], 1 - accuracies["valid"])
    assert test == {"accuracy": accuracies["test"], "error_rate": 1 - accuracies["test"]}
    assert valid.keys() == {"loss", "accuracy", "error_rate"}, "the border is a convolutional network's"
    assert task.no_skill == 0.9


def test_convolutional_network_reports_variances_at_its_border() -> None:
    task, model = built(smoke("convnet"))
    with torch.no_grad():
        valid = task.validate(model.eval())
    assert valid.keys() == {"loss", "accuracy", "error_rate", "border_variance", "interior_variance"}
    with torch.no_grad():
        a = model.stages[0][0].conv(SPLITS.valid.images(torch.float32)).double().numpy()  # type: ignore[index, union-attr]
    variance = a.var(0)
    assert valid["interior_variance"] == pytest.approx(variance[:, 1:-1, 1:-1].mean(), rel=1e-4)
    border = np.ones((8, 8), bool)
    border[1:-1, 1:-1] = False
    assert valid["border_variance"] == pytest.approx(variance[:, border].mean(), rel=1e-4)


def test_all_splits_are_whitened_with_the_statistics_of_the_training_images() -> None:
    task, model = built(smoke("convnet", task={"whitening": True}), torch.float64)
    whitened = Whitening.fit_to_images(SPLITS.train)(SPLITS.train[:7].images(torch.float64))
    seen: list[torch.Tensor] = []
    model.register_forward_pre_hook(lambda _model, x: seen.append(x[0]))
    task.loss(model.eval(), task.batch(torch.arange(7), torch.Generator()))
    with torch.no_grad():
        task.validate(model)
    torch.testing.assert_close(seen[0], whitened, rtol=1e-9, atol=1e-9)
    expected = Whitening.fit_to_images(SPLITS.train)(SPLITS.valid.images(torch.float64))
    torch.testing.assert_close(torch.cat(seen[1:]), expected, rtol=1e-9, atol=1e-9)


def test_the_population_is_all_training_images_in_order() -> None:
    task, _ = built(smoke())
    batches = list(task.population())
    assert torch.equal(torch.cat([batch.pixels for batch in batches]), SPLITS.train.pixels)
    assert all(1 < len(batch) <= 1000 for batch in batches)


def test_validation_uses_population_statistics() -> None:
    """Other tasks validate with the statistics of the validation batch, as in the code of RBN."""
    spec = smoke(method="batch_norm")
    assert spec.task.validates_with == "population"
    task, model = built(spec)
    assert all(len(norm.running_mean) == 0 for norm in batch_norms(model).values())
    _, values = evaluated(evaluate(task, model, spec, CPU, tested=True))
    by_hand = built(spec)[1]
    with torch.no_grad(), population_statistics(by_hand.eval()):
        for start in (0, 1000):
            by_hand(SPLITS.train[start : start + 1000].images(torch.float32))
    with torch.no_grad():
        logits = by_hand(SPLITS.valid.images(torch.float32)).double()
    expected = nn.functional.cross_entropy(logits, SPLITS.valid.labels).item()
    assert values["valid.loss"] == pytest.approx(expected, rel=1e-5)
    by_hand.train()
    with torch.no_grad():
        batchs = nn.functional.cross_entropy(by_hand(SPLITS.valid.images(torch.float32)), SPLITS.valid.labels).item()
    assert values["valid.loss"] != pytest.approx(batchs, rel=1e-4)


def run(spec: TrainingSpec) -> tuple[list[Measured], Finished]:
    *events, finished = train(spec, seed=0)
    assert isinstance(finished, Finished)
    return [event for event in events if isinstance(event, Measured)], finished


@pytest.mark.parametrize(("name", "last"), [("feedforward", 5), ("convnet", 5)])
def test_result_is_the_mean_of_the_last_evaluations(name: str, last: int) -> None:
    spec = smoke(name, "batch_norm", training={"max_steps": 24, "eval_every": 2})
    measured, finished = run(spec)
    assert len(measured) == 12
    tested = [event for event in measured if "test.error_rate" in event.values]
    assert len(tested) == (12 if name == "feedforward" else last)
    for metric in ("error_rate", "accuracy"):
        mean = sum(event.values[f"test.{metric}"] for event in measured[-last:]) / last
        assert finished.result.values[metric] == pytest.approx(mean, rel=1e-12)
    valid = sum(event.values["valid.error_rate"] for event in measured[-last:]) / last
    assert finished.result.valid_value == pytest.approx(valid, rel=1e-12)
    assert (finished.result.metric, finished.result.step) == ("error_rate", 24)


def test_fewer_evaluations_than_the_rule_asks_for_are_all_averaged() -> None:
    measured, finished = run(smoke("feedforward", training={"max_steps": 5, "eval_every": 2}))
    assert [event.step for event in measured] == [2, 4, 5]
    mean = sum(event.values["test.error_rate"] for event in measured) / 3
    assert finished.result.value == pytest.approx(mean, rel=1e-12)


def test_artifacts_are_figures_of_the_last_model() -> None:
    _, finished = run(smoke("convnet", training={"max_steps": 4}))
    assert set(finished.artifacts) == {"figures/confusion_matrix.json", "figures/border_variance.json"}
    confusion = json.loads(finished.artifacts["figures/confusion_matrix.json"]())
    counts = [[int(field) for field in row] for row in confusion["data"][0]["text"]]
    assert [sum(row) for row in counts] == torch.bincount(SPLITS.test.labels, minlength=10).tolist()
    border = json.loads(finished.artifacts["figures/border_variance.json"]())
    assert len(border["data"][0]["y"]) == 4, "rings of 8 x 8 places"
    assert all(math.isfinite(y) and y > 0 for y in border["data"][0]["y"])
    _, dense = run(smoke("feedforward", training={"max_steps": 4}))
    assert set(dense.artifacts) == {"figures/confusion_matrix.json"}
