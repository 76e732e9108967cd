"""Data of the task ``order_embedding``, and ranks of matching images and captions."""

from typing import Any

import numpy as np
import pytest
import torch

from normcore.data.captions import CAPTIONS, CaptionedImages, CaptionSplit
from normcore.models import order_embedding as models
from normcore.models.build import Build
from normcore.models.order_embedding import contrastive_loss, energy
from normcore.models.words import Words
from normcore.spec import TrainingSpec
from normcore.spec.tasks.order_embedding import METRICS
from normcore.tasks.order_embedding import OrderEmbeddingTask
from normcore.tasks.task import Resources
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")
FEATURES = 6
SAID = [f"word{k}" for k in range(12)]


def smoke(method: str = "none", **task: Any) -> TrainingSpec:
    written = {"name": "order_embedding", "profile": "smoke", "valid_images": None, **task}
    return training_spec({"task": written, "norm": {"method": method}})


def captioned(images: int, seed: int) -> CaptionSplit:
    random = np.random.RandomState(seed)
    captions = [[list(random.choice(SAID, 3 + k)) for k in range(CAPTIONS)] for _ in range(images)]
    return CaptionSplit(torch.from_numpy(random.rand(images, FEATURES)).float(), captions)


def given(test: int = 12) -> CaptionedImages:
    valid = captioned(6, 1)
    valid.captions[0][0].append("only_in_validation")  # type: ignore[attr-defined]
    return CaptionedImages(captioned(10, 0), valid, captioned(test, 2), {"c": "0"})


def built(spec: TrainingSpec, of: CaptionedImages | None = None) -> tuple[OrderEmbeddingTask, models.OrderEmbedding]:
    torch.manual_seed(0)
    task = OrderEmbeddingTask(spec.task, Resources(None, CPU, torch.float64), of or given())  # type: ignore[arg-type]
    model = task.model(Build(spec.model, spec.norm, "auto", CPU, torch.float64)).double()
    return task, model.eval()


def vocabulary(of: CaptionedImages) -> list[str]:
    parts = (of.train, of.valid)
    return list(dict.fromkeys(word for part in parts for image in part.captions for said in image for word in said))


def codes(said: list[str], known: list[str]) -> list[int]:
    return [*(2 + known.index(word) if word in known else 1 for word in said), 0]


def test_more_folds_than_images_to_test_are_refused_before_training() -> None:
    with pytest.raises(ValueError, match=r"has 3 images to test, which make no 5 folds; use fewer task\.folds"):
        built(smoke(folds=5), given(test=3))


def test_an_epoch_shows_every_image_once_with_one_of_its_captions() -> None:
    of = given()
    task, _ = built(smoke(), of)
    generator = torch.Generator().manual_seed(0)
    epoch = task.epoch(generator, 4)
    assert [len(examples) for examples in epoch] == [4, 4, 2] or [len(examples) for examples in epoch] == [4, 4]
    known, shown = vocabulary(of), set()
    for _ in range(40):
        batch = task.batch(torch.tensor([3, 7]), generator)
        torch.testing.assert_close(batch.images, of.train.features[[3, 7]].double())
        read = batch.captions.codes[: batch.captions.lengths[0], 0].tolist()
        (which,) = [k for k, said in enumerate(of.train.captions[3]) if codes(list(said), known) == read]
        shown.add(which)
    assert shown == set(range(CAPTIONS))


def test_words_only_in_the_test_share_a_code_and_validation_words_are_known() -> None:
    of = given()
    of.test.captions[0][0][0] = "strange"  # type: ignore[index]
    task, model = built(smoke(), of)
    assert model.captions.embedding.num_embeddings == len(vocabulary(of)) + 2
    assert "only_in_validation" in vocabulary(of)
    seen: list[Words] = []
    model.captions.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.no_grad():
        task.test(model)
    assert seen[0].codes[0, 0] == 1


def energies(model: models.OrderEmbedding, part: CaptionSplit, known: list[str]) -> torch.Tensor:
    """Compute the energies of all pairs, reading each caption alone."""
    with torch.no_grad():
        said = [torch.tensor(codes(list(one), known)) for image in part.captions for one in image]
        captions = torch.cat([model.embed_captions(Words.of([one], CPU)) for one in said])
        return energy(captions, model.embed_images(part.features.double()))


def by_hand(e: np.ndarray) -> dict[str, float]:
    """Compute the test values from energies (C, I), by sorting."""
    images = [1 + list(np.argsort(row)).index(c // CAPTIONS) for c, row in enumerate(e)]
    captions = []
    for i, column in enumerate(e.T):
        order = list(np.argsort(column) // CAPTIONS)
        captions.append(1 + order.index(i))
    found: dict[str, float] = {}
    for of, ranks in (("image", images), ("caption", captions)):
        found |= {f"{of}_r{k}": float(np.mean([rank <= k for rank in ranks])) for k in (1, 5, 10)}
        found[f"{of}_mean_rank"] = float(np.mean(ranks))
    return {"image_recall": (found["image_r1"] + found["image_r5"] + found["image_r10"]) / 3, **found}


def test_test_value_is_the_mean_over_folds_of_the_search_results() -> None:
    of = given()
    task, model = built(smoke(folds=2), of)
    e = energies(model, of.test, vocabulary(of)).numpy()
    folds = [by_hand(e[30 * k : 30 * (k + 1), 6 * k : 6 * (k + 1)]) for k in range(2)]
    expected = {name: pytest.approx((folds[0][name] + folds[1][name]) / 2, rel=1e-12) for name in folds[0]}
    with torch.no_grad():
        found = task.test(model)
    assert found == expected
    assert list(found) == [metric.name for metric in METRICS]


def test_validation_searches_all_its_images_at_once() -> None:
    of = given()
    task, model = built(smoke("layer_norm"), of)
    e = energies(model, of.valid, vocabulary(of))
    with torch.no_grad():
        values = task.validate(model)
        said = [torch.tensor(codes(list(image[0]), vocabulary(of))) for image in of.valid.captions]
        loss = contrastive_loss(
            model.embed_captions(Words.of(said, CPU)), model.embed_images(of.valid.features.double())
        )
    assert values.pop("loss") == pytest.approx(loss.item() / 6, rel=1e-10)
    assert values == {name: pytest.approx(value, rel=1e-12) for name, value in by_hand(e.numpy()).items()}


def test_no_skill_is_a_random_order() -> None:
    """A random order of a fold of 40 images has 1 of 40 first, and 5 of 40 among the first five."""
    task, _ = built(smoke(folds=1), given(test=40))
    assert task.no_skill == pytest.approx((1 + 5 + 10) / 3 / 40)


def test_model_learns_which_caption_belongs_to_which_image() -> None:
    task, model = built(smoke())
    adam = torch.optim.Adam(model.parameters(), 0.01)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        before = task.validate(model)["loss"]
    batch = task.batch(torch.arange(10), generator)
    first = task.loss(model, batch).total.item()
    for _ in range(100):
        adam.zero_grad()
        loss = task.loss(model, batch).total
        torch.autograd.backward(loss)
        adam.step()
    assert loss.item() < 0.3 * first
    assert before > 0


def test_artifact_lists_the_captions_of_the_images_found() -> None:
    of = given()
    task, model = built(smoke(folds=2), of)
    text = task.artifacts(model)["found.txt"]().decode()
    said, place, *found = text.split("\n")
    assert said == " ".join(of.test.captions[0][0])
    e = energies(model, of.test, vocabulary(of))[0, :6]
    assert place.strip() == f"its image comes at place {1 + int((e < e[0]).sum())} of 6; first come"
    best = sorted(range(6), key=lambda image: float(e[image]))[:3]
    assert [line.strip() for line in found[:3]] == [" ".join(of.test.captions[image][0]) for image in best]


def test_cost_of_the_paper_profile_is_that_of_the_protocol() -> None:
    """The protocols say 44 GFLOP per update of 128 captions."""
    spec = training_spec({"task": {"name": "order_embedding", "profile": "paper"}, "norm": {"method": "none"}})
    cost = spec.task.cost(spec.model)
    assert cost is not None
    assert cost.parameters == 8_265_728 + 300 * 10_000
    assert cost.flop_of_update(128) == pytest.approx(44e9, rel=0.2)
