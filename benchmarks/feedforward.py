"""Time of an update of ``feedforward`` (784-1000-1000-10, minibatches of 128) and of a bare torch loop.

Both train the same network on random pixels of MNIST's shapes, which lie in memory as uint8. They take turns in one
process and one thread, so a slow machine slows both. The bare loop is what a user would write: a slice of a
permutation, the pixels as float32, cross-entropy, ``torch.optim.Adam``.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.number import Number, Target, number
from normcore.data.images import ImageSplits, LabelledImages
from normcore.memory import keep_freed_memory
from normcore.models.build import Build
from normcore.seeding import reproducible
from normcore.spec import TrainingSpec, resolve
from normcore.tasks.image_classification import ImageClassification
from normcore.tasks.task import Resources
from normcore.training import optimizers
from normcore.training.loop import update
from normcore.training.order import TrainingOrder

CPU = torch.device("cpu")
IMAGES, BATCH = 5_000, 128
WARM_UP, UPDATES, PAIRS = 5, 20, 15
TARGET = Target("ratio", "at most", 1.2)


def measure(scratch: Path) -> list[Number]:
    keep_freed_memory()
    images = _images()
    with reproducible(0, CPU, 1):
        ours, bare = _our_update(images), _bare_update(images)
        for once in (ours, bare):
            _seconds(once, WARM_UP)
        pairs = [(_seconds(ours, UPDATES), _seconds(bare, UPDATES)) for _ in range(PAIRS)]
    return [
        number(
            "feedforward: an update",
            "ms",
            [1000 * mine / UPDATES for mine, _ in pairs],
            versus="bare torch loop",
            theirs=[1000 * theirs / UPDATES for _, theirs in pairs],
            target=TARGET,
        )
    ]


def _images() -> LabelledImages:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (IMAGES, 784), dtype=torch.uint8, generator=generator)
    return LabelledImages(pixels, torch.randint(10, (IMAGES,), generator=generator), 255, (1, 28, 28))


def _our_update(images: LabelledImages) -> Callable[[], Any]:
    spec = cast(TrainingSpec, resolve({"task": {"name": "feedforward", "profile": "paper"}}))
    splits = ImageSplits(images, images, images, {})
    task = ImageClassification(cast(Any, spec.task), Resources(None, CPU, torch.float32), splits=splits)
    model = task.model(Build(spec.model, spec.norm, "auto", CPU, torch.float32))
    optimizer = optimizers.build(spec.training.optimizer, model.parameters())
    draws = torch.Generator()
    order = TrainingOrder(lambda generator: task.epoch(generator, BATCH), torch.Generator())
    return lambda: update(task, model, optimizer, spec, task.batch(order.next_batch(), draws))


def _bare_update(images: LabelledImages) -> Callable[[], Any]:
    model = nn.Sequential(nn.Linear(784, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batches: list[Tensor] = []

    def once() -> None:
        if not batches:
            batches.extend(torch.split(torch.randperm(IMAGES), BATCH)[:-1])
        chosen = batches.pop()
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images.pixels[chosen].float() / 255), images.labels[chosen])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return once


def _seconds(once: Callable[[], Any], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        once()
    return time.perf_counter() - began
