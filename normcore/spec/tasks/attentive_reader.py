"""Answering questions on news and novels (RBN section 5.4, LN section 6.2)."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from normcore.spec.metric import Metric
from normcore.spec.models.attentive_reader import AttentiveReaderModel
from normcore.spec.models.model import Cost, Model
from normcore.spec.part import contradiction
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, Best, count_taken

DATASETS = {"cnn": "cnn_questions", "cnn_sample": "cnn_sample", "novels": "gutenberg_books"}
WRONG = Metric("error_rate", "", "minimize", "that of always naming the same entity", 0, 1)
WORDS = {"cnn": 65_830, "cnn_sample": 5_000, "novels": 20_000}
"""About how many a vocabulary has that is not cut short."""
TEST_QUESTIONS = {"cnn": 3_198, "cnn_sample": 10, "novels": 302}
TEXT, QUESTION = {"four_sentences": 150, "full": 780}, 20  # average numbers of words in CNN's
FEWEST = {"cnn": 300_000, "cnn_sample": 100, "novels": 5_000}
"""Training examples, at least."""


class AttentiveReader(Benchmark):
    """Answer questions on a text: find the entity that fills the blank. The text is cut to the four sentences that
    match the question best; entities are renamed for every batch.
    """

    title: ClassVar[str] = "Attentive reader"
    citation: ClassVar[str] = (
        "Cooijmans et al. 2017, arXiv:1603.09025, section 5.4; Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.2;"
        " Hermann et al. 2015, arXiv:1506.03340"
    )
    home: ClassVar[str] = "normcore.tasks.attentive_reader:AttentiveReaderTask"
    model: ClassVar[type[Model]] = AttentiveReaderModel
    metrics: ClassVar[tuple[Metric, ...]] = (WRONG,)
    selection: ClassVar[Best] = Best(WRONG)
    profiles: ClassVar = {
        "paper": Profile(
            "RBN section 5.4: 240 units, Adam at 8e-5, batches of 64. Dropout, initial weights and the missing forget"
            " bias are the authors' code's; it means to clip at a norm of 10.",
            task={"dataset": "cnn", "examples": None, "vocabulary": None},
            model={"hidden_size": 240, "embedding_size": 240, "dropout": 0.5},
            training={
                "optimizer": {"name": "adam", "lr": 8e-5},
                "batch_size": 64,
                "max_steps": 800_000,
                "clip_norm": 10.0,
                "eval_every": 1000,
                "target": 0.55,
            },
            norm={"group_norm": {"groups": 30}},
        ),
        "small": Profile(
            "Novels instead of news, texts of at most 120 words, 64 units: one to four minutes on one core. From the"
            " paper's small initial readout none learns no more than which words are names.",
            task={"dataset": "novels", "examples": None, "vocabulary": 500},
            model={"hidden_size": 64, "embedding_size": 64, "dropout": 0.1},
            training={
                "optimizer": {"name": "adam", "lr": 2e-3},
                "batch_size": 32,
                "max_steps": 4000,
                "clip_norm": 10.0,
                "eval_every": 100,
                "target": 0.6,
            },
            norm={"group_norm": {"groups": 8}},
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "cnn_sample", "examples": 20, "vocabulary": 200},
            model={"hidden_size": 8, "embedding_size": 8, "dropout": 0.0},
            training={
                "optimizer": {"name": "adam", "lr": 2e-3},
                "batch_size": 16,
                "max_steps": 12,
                "clip_norm": 10.0,
                "eval_every": 4,
                "target": 0.99,
            },
            norm={"group_norm": {"groups": 2}},
        ),
    }

    name: Literal["attentive_reader"] = "attentive_reader"
    dataset: Literal["cnn", "cnn_sample", "novels"] = Field(
        "cnn",
        description="The CNN questions; 200 of them; or questions from novels: a name is missing in a sentence, and"
        " the text is the six sentences before.",
    )
    examples: int | None = Field(
        None, ge=2, description="Take at most the first N questions to validate, and N to test; null takes all."
    )
    vocabulary: int | None = Field(
        None,
        ge=1,
        description="Number of known words: the most frequent of the training data; entities are extra. null takes"
        " all.",
    )
    passage: Literal["four_sentences", "full"] = Field(
        "four_sentences",
        description="Part of a text that is read: the four sentences that share the most words with the question, or"
        " all.",
    )

    @model_validator(mode="after")
    def what_is_left_is_there(self) -> Self:
        if self.dataset == "cnn_sample" and self.passage == "full":
            raise contradiction("cnn_sample has four sentences of each text; use four_sentences, or cnn", "passage")
        return self

    def needs(self) -> tuple[Need, ...]:
        return (Need(DATASETS[self.dataset], "dataset"),)

    def least_examples(self) -> int:
        return FEWEST[self.dataset]

    def test_items(self, metric: str) -> int | None:
        return count_taken(TEST_QUESTIONS[self.dataset], self.examples) if metric == WRONG.name else None

    def cost(self, model: Model) -> Cost | None:
        words = min(WORDS[self.dataset], self.vocabulary or WORDS[self.dataset])
        return model.cost(words, TEXT[self.passage], QUESTION) if isinstance(model, AttentiveReaderModel) else None
