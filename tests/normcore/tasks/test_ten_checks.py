"""The last three of the ten cheap checks, run by the tasks: see ``tests/normcore/test_ten_checks.py``."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normcore.data.binary_images import BinaryImages
from normcore.data.captions import CAPTIONS, Captioned, CaptionedImages
from normcore.data.handwriting import Handwriting
from normcore.data.iam_ondb import Line
from normcore.data.sentence_sets import SentenceSets
from normcore.data.triples import Text, Triples
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.spec import TrainingSpec
from normcore.tasks.draw import DrawTask
from normcore.tasks.handwriting import HandwritingTask
from normcore.tasks.order_embedding import OrderEmbeddingTask
from normcore.tasks.skip_thoughts import SkipThoughtsTask
from normcore.tasks.task import Resources
from tests.normcore.training_specs import training_spec

IMAGES = 200
RESOURCES = Resources(None, torch.device("cpu"), torch.float32)


def paper(task: str, method: str = "none", **options: Any) -> TrainingSpec:
    return training_spec({"task": {"name": task, "profile": "paper", **options}, "norm": {"method": method}})


class Placing(nn.Module):
    """Fake model that places captions by their first word, and images by their features."""

    def __init__(self, of_captions: Tensor) -> None:
        super().__init__()
        self.of_captions = of_captions

    def embed_captions(self, captions: Words) -> Tensor:
        return self.of_captions[captions.codes[0]]

    def embed_images(self, features: Tensor) -> Tensor:
        return features


def scores(places: Callable[[int, int], Tensor]) -> dict[str, float]:
    """Compute test scores of images placed by ``places``, with captions that begin with a word of the image."""
    said = [[[f"image{k}", "again"]] * CAPTIONS for k in range(IMAGES)]
    images = Captioned(places(IMAGES, 0), said)
    spec = paper("order_embedding", folds=1, valid_images=None)
    task = OrderEmbeddingTask(spec.task, RESOURCES, CaptionedImages(images, images, images, {}))  # type: ignore[arg-type]
    known = task.batch(torch.arange(IMAGES), torch.Generator()).captions.codes[0]
    of_captions = torch.zeros(int(known.max()) + 1, images.features.shape[1])
    of_captions[known] = places(IMAGES, 1)
    return task.test(Placing(of_captions))  # type: ignore[arg-type]


def test_8_perfect_model_ranks_matches_first_and_guessing_model_in_the_middle() -> None:
    knows = scores(lambda images, _: torch.eye(images))
    assert {name: value for name, value in knows.items() if not name.endswith("mean_rank")} == dict.fromkeys(
        ["image_recall", *(f"{of}_r{k}" for of in ("image", "caption") for k in (1, 5, 10))], 1.0
    )
    assert (knows["image_mean_rank"], knows["caption_mean_rank"]) == (1, 1)
    guesses = scores(lambda images, of: torch.rand(images, 50, generator=torch.Generator().manual_seed(of)))
    middle, deviation = (IMAGES + 1) / 2, IMAGES / 12**0.5
    assert guesses["image_mean_rank"] == pytest.approx(middle, abs=5 * deviation / IMAGES**0.5)


def draw_task(spec: TrainingSpec) -> DrawTask:
    images = torch.randint(2, (4, 28, 28), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    return DrawTask(spec.task, RESOURCES, BinaryImages(images, images, images, {}))  # type: ignore[arg-type]


def test_9_latent_numbers_of_the_prior_cost_0_and_an_empty_canvas_543_nats() -> None:
    spec = paper("draw")
    task = draw_task(spec)
    model = task.model(Build(spec.model, spec.norm, "auto", torch.device("cpu"), torch.float32))
    for layer in (model.patch, model.mean, model.log_deviation):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    with torch.no_grad():
        assert task.test(model.eval())["nats"] == pytest.approx(784 * math.log(2), rel=1e-6)
        found = task.validate(model)
    assert found["kl"] == 0
    assert found["nats"] == pytest.approx(543.4, abs=0.05)


def skip_thoughts_task(spec: TrainingSpec) -> SkipThoughtsTask:
    words = ["<eos>", "UNK", *(f"word{k}" for k in range(19_998))]
    text = Text(torch.ones(3, dtype=torch.int32), torch.arange(4), torch.tensor([1]))
    given = Triples(text, text, words, {}), SentenceSets({}, {}, {})
    options = spec.task.model_copy(update={"word_vectors": False})
    return SkipThoughtsTask(options, RESOURCES, given)  # type: ignore[arg-type]


def handwriting_task(spec: TrainingSpec) -> HandwritingTask:
    points = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
    points[:, 2] = (points[:, 2] > 0).float()
    lines = [Line("a01-000u-01", points, "a"), Line("a01-000u-02", points.flip(0), "b")]
    data = Handwriting(lines, lines, torch.zeros(2), torch.ones(2), {})
    return HandwritingTask(spec.task, RESOURCES, data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "made", "plain", "more"),
    [
        ("skip_thoughts", skip_thoughts_task, 125_673_600, 86_400),
        ("draw", draw_task, 959_467, 1_024),
        ("handwriting", handwriting_task, 3_650_151, 21_600),
    ],
)
@pytest.mark.parametrize("method", ["none", "layer_norm"])
def test_10_number_of_parameters_equals_the_papers(
    name: str, made: Callable[[TrainingSpec], Any], plain: int, more: int, method: str
) -> None:
    spec = paper(name, method)
    task = made(spec)
    with torch.device("meta"):
        model = task.model(Build(spec.model, spec.norm, "auto", torch.device("meta"), torch.float32))
    assert sum(p.numel() for p in model.parameters()) == plain + (more if method == "layer_norm" else 0)
