"""Sentence vectors (LN section 6.3)."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.metric import Metric
from normcore.spec.models.model import Cost, Model
from normcore.spec.models.skip_thoughts import SkipThoughtsModel
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, LastMean

NOTHING = "0: that of vectors that say nothing"
HALF = "the share of the commoner label"
OPINIONS = {"mr": (5_331, 5_331), "cr": (1_366, 2_405), "subj": (5_000, 5_000), "mpqa": (7_292, 3_311)}
"""Sets of opinions, and how many sentences have either label; all of them test, in one of ten folds."""
METRICS = (
    Metric("sick_pearson", "", "maximize", NOTHING, -1, 1),
    Metric("sick_spearman", "", "maximize", NOTHING, -1, 1),
    Metric("sick_mse", "", "minimize", "the variance of the scores", 0),
    *(Metric(name, "", "maximize", HALF, 0, 1) for name in OPINIONS),
)
STEPS = 14  # average number of words in a sentence, and one step for its end
FEWEST = {"bookcorpus": 1_000_000, "gutenberg_books": 10_000}
"""Training examples, at least."""


class SkipThoughts(Benchmark):
    """Predict the sentences before and after a sentence from its vector. The vectors are then tested on other tasks:
    relatedness (SICK) and opinions (MR, CR, SUBJ, MPQA)."""

    title: ClassVar[str] = "Skip-thought vectors"
    citation: ClassVar[str] = (
        "Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.3; Kiros et al. 2015, arXiv:1506.06726"
    )
    home: ClassVar[str] = "normcore.tasks.skip_thoughts:SkipThoughtsTask"
    model: ClassVar[type[Model]] = SkipThoughtsModel
    metrics: ClassVar[tuple[Metric, ...]] = METRICS
    selection: ClassVar[LastMean] = LastMean(1)  # the paper reports the model after its last update
    profiles: ClassVar = {
        "paper": Profile(
            "LN section 6.3 with the authors' code: 2,400 units, a million updates by Adam without its correction,"
            " summed losses, and so nearly all gradients clipped.",
            task={"dataset": "bookcorpus", "vocabulary": 20_000, "examples": None, "word_vectors": True},
            model={"hidden_size": 2400, "embedding_size": 620},
            training={
                "optimizer": {"name": "toronto_adam", "lr": 2e-4},
                "batch_size": 64,
                "max_steps": 1_000_000,
                "clip_norm": 5.0,
                "eval_every": 50_000,
                "target": 0.84,
            },
        ),
        "small": Profile(
            "Eight novels, 128 units: some minutes on one core.",
            task={"dataset": "gutenberg_books", "vocabulary": 4000, "examples": 500, "word_vectors": False},
            model={"hidden_size": 128, "embedding_size": 64},
            training={
                "optimizer": {"name": "toronto_adam", "lr": 1e-3},
                "batch_size": 64,
                "max_steps": 600,
                "clip_norm": 5.0,
                "eval_every": 100,
                "target": 0.3,
            },
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "gutenberg_books", "vocabulary": 200, "examples": 40, "word_vectors": False},
            model={"hidden_size": 8, "embedding_size": 8},
            training={
                "optimizer": {"name": "toronto_adam", "lr": 1e-3},
                "batch_size": 16,
                "max_steps": 8,
                "clip_norm": 5.0,
                "eval_every": 4,
                "target": 0.99,
            },
        ),
    }

    name: Literal["skip_thoughts"] = "skip_thoughts"
    dataset: Literal["bookcorpus", "gutenberg_books"] = Field(
        "bookcorpus", description="Source of the sentences: BookCorpus, or eight novels."
    )
    vocabulary: int = Field(
        20_000, ge=10, description="Number of known words, the most frequent ones; all others count as one word."
    )
    examples: int | None = Field(
        None,
        ge=40,
        description="Take at most N pairs of each split of SICK, and N sentences of each other set, half of each label;"
        " null takes all.",
    )
    word_vectors: bool = Field(
        True,
        description="Read words that are not known by a linear map from word2vec's vectors, which is fitted to the"
        " known words. Otherwise all of them count as one word.",
    )

    def needs(self) -> tuple[Need, ...]:
        own = (Need(self.dataset, "dataset"), Need("sentence_eval"))
        return (*own, Need("word2vec", "word_vectors")) if self.word_vectors else own

    def least_examples(self) -> int:
        return FEWEST[self.dataset]

    def test_items(self, metric: str) -> int | None:
        of_labels = OPINIONS.get(metric)
        if of_labels is None:
            return None
        return sum(number if self.examples is None else min(number, self.examples // 2) for number in of_labels)

    def cost(self, model: Model) -> Cost | None:
        return model.cost(self.vocabulary, STEPS) if isinstance(model, SkipThoughtsModel) else None
