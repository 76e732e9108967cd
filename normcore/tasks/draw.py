"""Task: model binary images with DRAW, scored by the variational bound in nats (LN section 6.4).

Shapes: T glimpses, B images of S x S pixels, Z latent numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from normcore.data import binary_images
from normcore.data.binary_images import BinaryImages
from normcore.figures import Figure, as_json
from normcore.figures.film import film
from normcore.figures.picture import png, sheet
from normcore.losses import bernoulli_cross_entropy
from normcore.models.build import Build
from normcore.models.draw import Draw, DrawnImages
from normcore.spec.models import draw as models
from normcore.spec.tasks import draw as spec
from normcore.tasks.task import Loss, Resources, even_batches, shuffle_into_batches

EVALUATION_BATCH = 500
POPULATION = 10_000  # training images whose statistics are averaged
SHOWN = 64  # images in a picture
FILMED = 16  # images in the film


class DrawTask:
    """Task of modelling binary images. The latent numbers are sampled once for each image; evaluation always uses the
    same random numbers."""

    def __init__(self, options: spec.Draw, resources: Resources, images: BinaryImages | None = None) -> None:
        if images is None:
            images = binary_images.load(options.dataset, resources.datasets_dir)
        if options.examples is not None:
            images = images.spread(options.examples)
        self.checksums: Mapping[str, str] = images.checksums
        self.no_skill = _frequencies_cost(images.train, images.test)
        self._train, self._valid, self._test = (
            part.to(resources.device) for part in (images.train, images.valid, images.test)
        )
        self._resources = resources

    def model(self, build: Build) -> Draw:
        assert isinstance(build.options, models.DrawModel)
        return Draw(build, build.options, self._train.shape[1])

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffle_into_batches(torch.arange(len(self._train)), batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator) -> Tensor:
        return self._train[examples.to(self._resources.device, non_blocking=True)].to(self._resources.dtype)

    def loss(self, model: Draw, batch: Tensor) -> Loss:
        """Loss of a batch: the variational bound, with its parts ``reconstruction`` and ``kl``."""
        drawn: DrawnImages = model(batch)
        reconstruction = bernoulli_cross_entropy(drawn.canvas.flatten(1), batch.flatten(1)).mean()
        kl = drawn.kl.mean()
        return Loss(reconstruction + kl, {"reconstruction": reconstruction, "kl": kl})

    def population(self) -> Iterator[Tensor]:
        yield from self._in_batches(self._train[:POPULATION])

    def observe(self, model: Draw, batch: Tensor) -> None:
        model(batch)

    def validate(self, model: Draw) -> dict[str, float]:
        scores = self._score(model, self._valid)
        return {"loss": scores["nats"], **scores}

    def test(self, model: Draw) -> dict[str, float]:
        return {"nats": self._score(model, self._test)["nats"]}

    def artifacts(self, model: Draw) -> Mapping[str, Callable[[], bytes]]:
        return {
            "generated.png": lambda: png(sheet(self._generate_images(model)[-1].cpu().numpy())),
            "reconstructed.png": lambda: png(sheet(self._reconstruct_images(model).cpu().numpy())),
            "figures/painting.json": lambda: as_json(self._film(model)),
        }

    def _score(self, model: Draw, images: Tensor) -> dict[str, float]:
        """Variational bound in nats, mean over ``images``, and its parts ``reconstruction`` and ``kl``."""
        generator = self._generator()
        reconstruction = torch.zeros((), dtype=torch.float64, device=self._resources.device)
        kl = torch.zeros_like(reconstruction)
        for batch in self._in_batches(images):
            drawn = model(batch, model.noise(len(batch), generator))
            reconstruction += bernoulli_cross_entropy(drawn.canvas.flatten(1), batch.flatten(1)).double().sum()
            kl += drawn.kl.double().sum()
        return {
            "nats": (reconstruction + kl).item() / len(images),
            "reconstruction": reconstruction.item() / len(images),
            "kl": kl.item() / len(images),
        }

    @torch.no_grad()
    def _generate_images(self, model: Draw) -> list[Tensor]:
        """Generate images: for each glimpse, the images (SHOWN, S, S) as they look after it."""
        return [canvas.float().sigmoid() for canvas in model.generate(model.noise(SHOWN, self._generator()))]

    @torch.no_grad()
    def _reconstruct_images(self, model: Draw) -> Tensor:
        """Reconstruct n test images: (2 n, S, S), each image followed by its reconstruction."""
        images = next(even_batches(self._pick_spread_images(SHOWN // 2), SHOWN)).to(self._resources.dtype)
        drawn = model(images, model.noise(len(images), self._generator()))
        return torch.stack([images.float(), drawn.canvas.float().sigmoid()], 1).flatten(0, 1)

    def _film(self, model: Draw) -> Figure:
        frames = [sheet(canvases[:FILMED].cpu().numpy()).tolist() for canvases in self._generate_images(model)]
        return film(frames, "Images made up, glimpse by glimpse", "glimpse")

    def _pick_spread_images(self, count: int) -> Tensor:
        return self._test[torch.arange(count, device=self._test.device) * len(self._test) // count]

    def _generator(self) -> torch.Generator:
        return torch.Generator(self._resources.device).manual_seed(0)

    def _in_batches(self, images: Tensor) -> Iterator[Tensor]:
        return (batch.to(self._resources.dtype) for batch in even_batches(images, EVALUATION_BATCH))


def _frequencies_cost(train: Tensor, test: Tensor) -> float:
    """Nats for each test image of a model with independent pixels, each 1 with its frequency in the training images.

    Frequencies are counted with one image of zeros and one image of ones added.
    """
    p = (train.double().sum(0) + 1) / (len(train) + 2)
    return -torch.where(test == 1, p.log(), (1 - p).log()).sum((1, 2)).mean().item()
