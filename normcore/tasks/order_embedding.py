"""Task: find images by captions, and captions by images (LN section 6.1).

Shapes: B images or captions, F features of an image, embeddings of H numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from normcore.data import captions
from normcore.data.captions import CAPTIONS, CaptionedImages, CaptionSplit
from normcore.models.build import Build
from normcore.models.order_embedding import OrderEmbedding, contrastive_loss, energy
from normcore.models.words import Words
from normcore.retrieval import caption_ranks, image_ranks, scores
from normcore.spec.models import order_embedding as models
from normcore.spec.tasks import order_embedding as spec
from normcore.tasks.task import Loss, Resources, even_batches, shuffle_into_batches

LOSS_BATCH = 128
EVALUATION_BATCH = 500  # captions
POPULATION = 5000  # training images whose statistics are averaged
END, UNKNOWN = 0, 1  # numbers of words; known words have the numbers from 2 on
SHOWN, BEST = 20, 3  # captions in ``found.txt``, and best images for each caption


class Batch(NamedTuple):
    """Batch of captions, with the features (B, F) of each caption's image."""

    captions: Words
    images: Tensor


class EmbeddedPairs(NamedTuple):
    """Embeddings of I images (I, H) and of their captions (5 I, H); the five captions of an image are consecutive."""

    captions: Tensor
    images: Tensor


class OrderEmbeddingTask:
    """Task of caption and image retrieval. An epoch shows every image once, with one random caption of the image."""

    def __init__(
        self, options: spec.OrderEmbedding, resources: Resources, images: CaptionedImages | None = None
    ) -> None:
        if images is None:
            images = captions.load(options.dataset, resources.datasets_dir)
        self.checksums: Mapping[str, str] = images.checksums
        self._resources = resources
        self._folds = options.folds
        valid = images.valid.first(options.valid_images)
        self._words = _vocabulary(images.train, valid)
        self._train, self._valid, self._test = (
            _EncodedPart(part, self._words) for part in (images.train, valid, images.test)
        )
        fold = len(self._test.captions) // options.folds
        if fold == 0:
            raise ValueError(
                f"data set {options.dataset} has {len(self._test.captions)} images to test, which make no"
                f" {options.folds} folds; use fewer task.folds"
            )
        self.no_skill = sum(k / fold for k in spec.PLACES) / len(spec.PLACES) if fold >= max(spec.PLACES) else 1.0
        self._fold = fold

    def model(self, build: Build) -> OrderEmbedding:
        assert isinstance(build.options, models.OrderEmbeddingModel)
        return OrderEmbedding(build, build.options, len(self._words) + 2, self._train.features.shape[1])

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffle_into_batches(torch.arange(len(self._train.captions)), batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator) -> Batch:
        which = torch.randint(CAPTIONS, examples.shape, generator=generator)
        return self._batch(self._train, examples, which)

    def loss(self, model: OrderEmbedding, batch: Batch) -> Loss:
        return Loss(contrastive_loss(model.embed_captions(batch.captions), model.embed_images(batch.images)))

    def population(self) -> Iterator[Batch]:
        for images in even_batches(torch.arange(min(POPULATION, len(self._train.captions))), EVALUATION_BATCH):
            yield self._batch(self._train, images, torch.zeros_like(images))

    def observe(self, model: OrderEmbedding, batch: Batch) -> None:
        model.embed_captions(batch.captions)
        model.embed_images(batch.images)

    def validate(self, model: OrderEmbedding) -> dict[str, float]:
        """Loss and metrics on validation data.

        The loss pairs every image with its first caption, in batches of ``LOSS_BATCH`` images, and is a mean over
        images. The training loss is a sum over the minibatch; it depends on the minibatch size.
        """
        placed = self._embed_part(model, self._valid, range(len(self._valid.captions)))
        first = placed.captions[::CAPTIONS]
        loss = sum(
            contrastive_loss(first[part], placed.images[part]).item()
            for part in even_batches(torch.arange(len(first), device=first.device), LOSS_BATCH)
        )
        return {"loss": loss / len(first), **_scores([placed])}

    def test(self, model: OrderEmbedding) -> dict[str, float]:
        return _scores(
            [
                self._embed_part(model, self._test, range(k * self._fold, (k + 1) * self._fold))
                for k in range(self._folds)
            ]
        )

    def artifacts(self, model: OrderEmbedding) -> Mapping[str, Callable[[], bytes]]:
        return {"found.txt": lambda: self._write_retrievals(model).encode()}

    def _embed_part(self, model: OrderEmbedding, part: "_EncodedPart", images: Sequence[int]) -> EmbeddedPairs:
        sequences = [codes for image in images for codes in part.captions[image]]
        device = self._resources.device
        own = [
            model.embed_captions(Words.of([sequences[k] for k in numbers.tolist()], device))
            for numbers in even_batches(torch.arange(len(sequences)), EVALUATION_BATCH)
        ]
        features = part.features[images[0] : images[-1] + 1].to(device, self._resources.dtype)
        return EmbeddedPairs(torch.cat(own), model.embed_images(features))

    def _batch(self, part: "_EncodedPart", images: Tensor, which: Tensor) -> Batch:
        chosen = [part.captions[image][k] for image, k in zip(images.tolist(), which.tolist(), strict=True)]
        device = self._resources.device
        return Batch(Words.of(chosen, device), part.features[images].to(device, self._resources.dtype))

    @torch.no_grad()
    def _write_retrievals(self, model: OrderEmbedding) -> str:
        """Text with examples of retrieval, for first captions of images in the first fold: the rank of the caption's
        own image, and the best images, each shown by its first caption.
        """
        fold = range(self._fold)
        placed = self._embed_part(model, self._test, fold)
        energies = energy(placed.captions, placed.images)
        of_images = image_ranks(energies)
        lines = []
        for image in fold[:SHOWN]:
            caption = image * CAPTIONS
            lines += [
                " ".join(self._test.words[image][0]),
                f"    its image comes at place {of_images[caption].item()} of {len(fold)}; first come",
                *(f"    {' '.join(self._test.words[k][0])}" for k in energies[caption].argsort()[:BEST].tolist()),
            ]
        return "\n".join(lines) + "\n"


class _EncodedPart:
    """Split with its captions encoded as numbers of words; each caption ends with ``END``."""

    def __init__(self, part: CaptionSplit, words: Mapping[str, int]) -> None:
        self.features = part.features
        self.words = part.captions
        self.captions = [
            [torch.tensor([*(words.get(word, UNKNOWN) for word in said), END]) for said in image]
            for image in part.captions
        ]


def _vocabulary(*parts: CaptionSplit) -> dict[str, int]:
    """Number all words of the captions in ``parts``, in the order of first occurrence.

    The authors' code numbers words of validation captions, too.
    """
    words = (word for part in parts for image in part.captions for said in image for word in said)
    return {word: k for k, word in enumerate(dict.fromkeys(words), UNKNOWN + 1)}


def _scores(folds: Sequence[EmbeddedPairs]) -> dict[str, float]:
    """Mean of each retrieval metric over the folds."""
    found = [_scores_of(energy(placed.captions, placed.images)) for placed in folds]
    return {metric.name: sum(fold[metric.name] for fold in found) / len(found) for metric in spec.METRICS}


def _scores_of(energies: Tensor) -> dict[str, float]:
    image, caption = (scores(ranks(energies), spec.PLACES) for ranks in (image_ranks, caption_ranks))
    return {
        "image_recall": sum(image[f"r{k}"] for k in spec.PLACES) / len(spec.PLACES),
        **{f"image_{name}": value for name, value in image.items()},
        **{f"caption_{name}": value for name, value in caption.items()},
    }
