"""Data and variational bound of the task ``draw``."""

import io
import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from normcore import tasks
from normcore.data.binary_images import BinaryImages
from normcore.models.build import Build
from normcore.models.draw import Draw
from normcore.spec import InvalidSpec, TrainingSpec, resolve
from normcore.tasks.draw import DrawTask
from normcore.tasks.task import Resources
from tests.normcore.figures.structure import check
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")


def smoke(method: str = "none", **parts: Any) -> TrainingSpec:
    task = {"name": "draw", "profile": "smoke", **parts.pop("task", {})}
    return training_spec({"task": task, "norm": {"method": method}, **parts})


def built(spec: TrainingSpec, images: BinaryImages | None = None) -> tuple[DrawTask, Draw]:
    torch.manual_seed(0)
    task = DrawTask(spec.task, Resources(None, CPU, torch.float64), images)  # type: ignore[arg-type]
    model = task.model(Build(spec.model, spec.norm, "auto", CPU, torch.float64)).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return task, model


def pictures(seed: int = 0, train: int = 40, valid: int = 30, test: int = 25, side: int = 8) -> BinaryImages:
    random = torch.Generator().manual_seed(seed)
    parts = ((torch.rand(n, side, side, generator=random) < 0.3).to(torch.uint8) for n in (train, valid, test))
    return BinaryImages(*parts, {"p": "0"})  # type: ignore[call-arg, arg-type]


def test_a_batch_is_images_of_0_and_1() -> None:
    images = pictures()
    task, _ = built(smoke(), images)
    generator = torch.Generator().manual_seed(0)
    epoch = task.epoch(generator, 16)
    assert torch.cat(list(epoch)).sort().values.tolist() == list(range(40))
    batch = task.batch(epoch[0], generator)
    assert batch.dtype == torch.float64
    assert torch.equal(batch, images.train[epoch[0]].double())


def bound(model: Draw, images: Tensor, noise: Tensor) -> tuple[float, float]:
    """Compute nats of the pixels and of the latent numbers, one pixel and one number at a time."""
    drawn = model(images, noise)
    p = drawn.canvas.sigmoid().detach().numpy()
    x = images.numpy()
    return -np.where(x == 1, np.log(p), np.log(1 - p)).sum(), drawn.kl.sum().item()


def test_the_loss_is_the_mean_bound_and_shows_its_terms() -> None:
    task, model = built(smoke(), pictures())
    batch = task.batch(torch.arange(10), torch.Generator())
    torch.manual_seed(5)
    loss = task.loss(model, batch)
    torch.manual_seed(5)
    reconstruction, kl = bound(model, batch, model.noise(10))
    assert loss.parts["reconstruction"].item() == pytest.approx(reconstruction / 10, rel=1e-9)
    assert loss.parts["kl"].item() == pytest.approx(kl / 10, rel=1e-9)
    assert loss.total.item() == pytest.approx((reconstruction + kl) / 10, rel=1e-9)


def test_evaluation_draws_the_same_sample_for_an_image_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normcore.tasks.draw.EVALUATION_BATCH", 12)
    images = pictures()
    task, model = built(smoke(), images)
    state = torch.get_rng_state()
    with torch.no_grad():
        first, second = task.validate(model), task.validate(model)
    assert first == second
    assert torch.equal(state, torch.get_rng_state())
    generator, totals = torch.Generator().manual_seed(0), np.zeros(2)
    with torch.no_grad():
        for part in torch.split(images.valid.double(), 12):
            totals += bound(model, part, model.noise(len(part), generator))
    assert first["reconstruction"] == pytest.approx(totals[0] / 30, rel=1e-9)
    assert first["kl"] == pytest.approx(totals[1] / 30, rel=1e-9)
    assert first["nats"] == first["loss"] == pytest.approx(totals.sum() / 30, rel=1e-9)
    assert task.test(model).keys() == {"nats"}


def test_no_skill_is_to_know_the_frequency_of_each_pixel() -> None:
    train = torch.tensor([[[1, 0]], [[1, 0]], [[1, 1]], [[1, 0]]], dtype=torch.uint8)
    images = BinaryImages(train, train, torch.tensor([[[1, 1]], [[0, 0]]], dtype=torch.uint8), {})
    task = DrawTask(smoke().task, Resources(None, CPU, torch.float32), images)  # type: ignore[arg-type]
    ones = (5 / 6, 2 / 6)  # with one more image of each kind
    first = -math.log(ones[0]) - math.log(ones[1])
    second = -math.log(1 - ones[0]) - math.log(1 - ones[1])
    assert task.no_skill == pytest.approx((first + second) / 2)


def test_population_statistics_come_from_training_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normcore.tasks.draw.POPULATION", 30)
    monkeypatch.setattr("normcore.tasks.draw.EVALUATION_BATCH", 12)
    images = pictures()
    task, _ = built(smoke(), images)
    batches = list(task.population())
    assert [len(batch) for batch in batches] == [12, 12, 6]
    assert torch.equal(torch.cat(batches), images.train[:30].double())


def test_pictures_show_generated_images_and_reconstructed_test_images() -> None:
    spec = smoke()
    task, model = built(spec)
    files = {name: draw() for name, draw in task.artifacts(model).items()}
    assert set(files) == {"generated.png", "reconstructed.png", "figures/painting.json"}
    generated, reconstructed = (
        np.asarray(Image.open(io.BytesIO(files[name]))) for name in ("generated.png", "reconstructed.png")
    )
    assert generated.shape == reconstructed.shape == (4 * (8 * 9 + 1), 4 * (8 * 9 + 1))
    first = reconstructed[4:36:4, 4:36:4]
    shown = tasks.build(spec.task, Resources(None, CPU, torch.float32))
    assert np.array_equal(first, shown._test[0].numpy() * 255)  # type: ignore[attr-defined]
    film = json.loads(files["figures/painting.json"])
    check(film)
    assert len(film["frames"]) == spec.model.glimpses  # type: ignore[attr-defined]
    assert files == {name: draw() for name, draw in task.artifacts(model).items()}


@pytest.mark.parametrize("field", ["read_size", "write_size"])
def test_a_patch_larger_than_the_image_is_refused(field: str) -> None:
    with pytest.raises(InvalidSpec, match="digits has images of 8 x 8 pixels; use 8 or less") as refused:
        resolve({"task": {"name": "draw", "profile": "smoke"}, "model": {field: 9}, "norm": {"method": "none"}})
    assert [error.loc for error in refused.value.errors] == [("model", field)]


def test_cost_of_the_paper_profile_is_that_of_the_protocol() -> None:
    """The protocols say 47 GFLOP per update of 128 images."""
    spec = training_spec({"task": {"name": "draw", "profile": "paper"}, "norm": {"method": "none"}})
    cost = spec.task.cost(spec.model)
    assert cost is not None
    assert cost.parameters == 959_467
    assert cost.flop_of_update(128) == pytest.approx(47e9, rel=0.1)
