"""Search of images by captions, and of captions by images (LN section 6.1)."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.metric import Metric
from normcore.spec.models.model import Cost, Model
from normcore.spec.models.order_embedding import OrderEmbeddingModel
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, Best

CHANCE = "that of an order by chance"
PLACES = (1, 5, 10)
IMAGE_RECALL = Metric("image_recall", "", "maximize", CHANCE, 0, 1)
METRICS = (
    IMAGE_RECALL,
    *(Metric(f"{of}_r{k}", "", "maximize", CHANCE, 0, 1) for of in ("image", "caption") for k in PLACES),
    *(Metric(f"{of}_mean_rank", "", "minimize", CHANCE, 1) for of in ("image", "caption")),
)
WORDS = {"coco_karpathy": 10_000, "flickr8k_1000": 2_000}  # approximate size of the vocabulary
TEST_IMAGES, CAPTIONS = {"coco_karpathy": 5_000, "flickr8k_1000": 100}, 5  # captions of each image
FEATURES = {"coco_karpathy": 4096, "flickr8k_1000": 1000}
STEPS = 12  # words of a caption on average, and its end
FEWEST = {"coco_karpathy": 100_000, "flickr8k_1000": 500}
"""Training examples, at least."""


class OrderEmbedding(Benchmark):
    """Search images by captions and captions by images, sorted by their order-violation. Metrics are means over the
    folds of the test data. ``image_recall``, the mean of the recalls at 1, 5 and 10 of images, selects the model."""

    title: ClassVar[str] = "Order-embeddings of images and captions"
    citation: ClassVar[str] = (
        "Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.1; Vendrov et al. 2016, arXiv:1511.06361"
    )
    home: ClassVar[str] = "normcore.tasks.order_embedding:OrderEmbeddingTask"
    model: ClassVar[type[Model]] = OrderEmbeddingModel
    metrics: ClassVar[tuple[Metric, ...]] = METRICS
    selection: ClassVar[Best] = Best(IMAGE_RECALL)
    profiles: ClassVar = {
        "paper": Profile(
            "LN section 6.1 with the authors' code: 1,024 units, 100 epochs, Adam without its correction, gradients"
            " clipped by tensor.",
            task={"dataset": "coco_karpathy", "folds": 5, "valid_images": 1000},
            model={"hidden_size": 1024, "embedding_size": 300},
            training={
                "optimizer": {"name": "toronto_adam", "lr": 1e-3},
                "batch_size": 128,
                "max_steps": 88_500,
                "clip_norm": 2.0,
                "clip": "per_tensor",
                "eval_every": 300,
                "target": 0.65,
            },
        ),
        "small": Profile(
            "1,000 images of Flickr8k, 128 units: a minute or two on one core.",
            task={"dataset": "flickr8k_1000", "folds": 1, "valid_images": None},
            model={"hidden_size": 128, "embedding_size": 64},
            training={
                "optimizer": {"name": "toronto_adam", "lr": 1e-3},
                "batch_size": 64,
                "max_steps": 400,
                "clip_norm": 2.0,
                "clip": "per_tensor",
                "eval_every": 20,
                "target": 0.3,
            },
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "flickr8k_1000", "folds": 2, "valid_images": 20},
            model={"hidden_size": 8, "embedding_size": 8},
            training={
                "optimizer": {"name": "toronto_adam", "lr": 1e-3},
                "batch_size": 16,
                "max_steps": 12,
                "clip_norm": 2.0,
                "clip": "per_tensor",
                "eval_every": 4,
                "target": 0.99,
            },
        ),
    }

    name: Literal["order_embedding"] = "order_embedding"
    dataset: Literal["coco_karpathy", "flickr8k_1000"] = Field(
        "coco_karpathy",
        description="COCO in Karpathy's splits, or the 1,000 images of Flickr8k whose features are public.",
    )
    folds: int = Field(
        5,
        ge=1,
        le=100,
        description="Number of equal parts of the test images. Each part is searched by itself, and a rest is left"
        " out.",
    )
    valid_images: int | None = Field(
        1000, ge=2, description="Take at most the first N validation images; null takes all."
    )

    def needs(self) -> tuple[Need, ...]:
        return (Need(self.dataset, "dataset"),)

    def least_examples(self) -> int:
        return FEWEST[self.dataset]

    def test_items(self, metric: str) -> int | None:
        """Return the number of searches: of captions that search their image, or of images that search their captions.
        Images that do not fill a fold are left out."""
        if metric.endswith("mean_rank") or self.measures(metric) not in METRICS:
            return None
        images = TEST_IMAGES[self.dataset] // self.folds * self.folds
        return (CAPTIONS * images if metric.startswith("image_") else images) or None

    def cost(self, model: Model) -> Cost | None:
        if not isinstance(model, OrderEmbeddingModel):
            return None
        return model.cost(WORDS[self.dataset], STEPS, FEATURES[self.dataset])
