"""Character-level language modelling (RBN section 5.2)."""

from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from normcore.spec.messages import Advice, Form
from normcore.spec.metric import ACCURACY, BITS_PER_CHAR, Metric
from normcore.spec.models.model import Cost, Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import contradiction
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, Best, LastMean

SYMBOLS = {"ptb": 50, "text8": 27, "text8_prefix": 27}  # of corpora with a fixed alphabet
CHARACTERS = {"pydoc": 300_000, "ptb": 5_000_000, "text8": 90_000_000}
"""Least number of characters of the training text. For other corpora it is not known before the text is read."""
FEWEST_SYMBOLS = 2  # for a text with an alphabet that is not known before the text is read
FEWEST_EXAMPLES = 3  # examples that a text must hold
LSTM = {"cell": "lstm", "num_layers": 1, "bidirectional": False, "recurrent_init": "orthogonal", "forget_bias": 1.0}
ADAM = {"optimizer": {"name": "adam", "lr": 2e-3}, "clip_norm": 1.0}


class CharLM(Benchmark):
    """Predict the next character of a text. The test text is read as one sequence."""

    title: ClassVar[str] = "Character language model"
    citation: ClassVar[str] = "Cooijmans et al. 2017, arXiv:1603.09025, section 5.2"
    home: ClassVar[str] = "normcore.tasks.char_lm:CharacterModelling"
    metrics: ClassVar[tuple[Metric, ...]] = (BITS_PER_CHAR, ACCURACY)
    selection: ClassVar[Best | LastMean] = Best(ACCURACY)  # the authors select by error rate, not by loss
    may_look_ahead: ClassVar[bool] = False
    profiles: ClassVar = {
        "paper": Profile(
            description="RBN section 5.2: Penn Treebank, 1000 units; 50 epochs, as in the authors' code.",
            task={"corpus": "ptb", "sequence_length": 100, "valid_chars": None, "test_chars": None},
            model={**LSTM, "hidden_size": 1000},
            training={**ADAM, "batch_size": 64, "max_steps": 39_550, "eval_every": 791, "target": 1.5},
        ),
        "small": Profile(
            description="Python's own documentation, 128 units: 1 to 3 minutes on one core. Expected order with corpus"
            " ptb, seen in seeds 0, 1 and 2: layer_norm, recurrent_batch_norm, none.",
            task={"corpus": "pydoc", "sequence_length": 50, "valid_chars": 20_000, "test_chars": 20_000},
            model={**LSTM, "hidden_size": 128},
            training={**ADAM, "batch_size": 64, "max_steps": 1000, "eval_every": 50, "target": 3.0},
        ),
        "smoke": Profile(
            description="Seconds; checks that everything runs.",
            task={"corpus": "pydoc", "sequence_length": 20, "valid_chars": 1000, "test_chars": 1000},
            model={**LSTM, "hidden_size": 16},
            training={**ADAM, "batch_size": 16, "max_steps": 20, "eval_every": 5, "target": 4.5},
        ),
    }

    name: Literal["char_lm"] = "char_lm"
    corpus: Literal["pydoc", "ptb", "text8", "text8_prefix", "file"] = Field(
        "pydoc",
        description="Python's documentation; the Penn Treebank (Mikolov's split); the first 100 million characters of"
        " Wikipedia (Mahoney), or a prefix of them, whose results compare with nothing published; or a text file. The"
        " profile's other fields do not change with the corpus; RBN Table 3: examples/specs/rbn_text8_lstm.yaml.",
    )
    file: str | None = Field(
        None,
        max_length=500,
        description="With corpus file: a text file, plain or .gz, below the data sets' directory; split 90/5/5.",
    )
    sha256: Annotated[str, Form("^[0-9a-f]{64}$", "give 64 hexadecimal digits, or leave it out")] | None = Field(
        None, description="Digest of the file's text; filled in when omitted."
    )
    sequence_length: int = Field(
        100, ge=2, le=100_000, description="Characters of one training example: one more than predictions."
    )
    valid_chars: int | None = Field(
        None, ge=2, description="Use only the first N characters of the validation text; null uses all."
    )
    test_chars: int | None = Field(
        None, ge=2, description="Use only the first N characters of the test text; null uses all."
    )

    @field_validator("corpus", mode="before")
    @classmethod
    def corpus_is_no_file(cls, corpus: Any) -> Any:
        path = PurePosixPath(corpus) if isinstance(corpus, str) else PurePosixPath()
        if not path.suffix and len(path.parts) < 2:
            return corpus
        file = path.name if path.is_absolute() or ".." in path.parts else str(path)
        told = Advice("a text file is named in file", ("task",), {"corpus": "file", "file": file})
        raise PydanticCustomError("corpus", "{message}", {"message": told})

    @field_validator("file")
    @classmethod
    def stays_below_the_datasets_directory(cls, file: str | None) -> str | None:
        if file is not None and (PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts):
            raise PydanticCustomError("path", "give a path below the data sets' directory, without '..'")
        if file is not None and not file.isprintable():
            raise PydanticCustomError("printable", "use printable characters only")
        return file and str(PurePosixPath(file))  # one name for one file

    @model_validator(mode="after")
    def file_goes_with_its_corpus(self) -> Self:
        if (self.corpus == "file") != (self.file is not None):
            raise contradiction("corpus: file and file: NAME go together; give both or neither", "file")
        if self.sha256 is not None and self.file is None:
            raise contradiction("sha256 goes with file: NAME; drop it", "sha256")
        return self

    @model_validator(mode="after")
    def evaluation_has_two_examples(self) -> Self:
        for field in ("valid_chars", "test_chars"):
            characters = getattr(self, field)
            if characters is not None and characters < 2 * self.sequence_length:
                raise contradiction(
                    f"expected {2 * self.sequence_length:,} or more, two examples of task.sequence_length; use more,"
                    " null for all, or shorter examples",
                    field,
                )
        return self

    def check_lengths(self, train: int, valid: int) -> None:
        """Check that a training text and a validation text of these lengths, in characters, hold enough examples.

        Raises:
            ValueError: a text is too short.
        """
        length = self.sequence_length
        if train < 4 * length or valid < 2 * length:
            raise ValueError(
                f"{length:,} characters are too many for {train:,} of training text and {valid:,} of validation text;"
                " use shorter examples or a longer text"
            )

    def test_items(self, metric: str) -> int | None:
        """Return the number of characters of the test text that are predicted: all but the first character."""
        return self.test_chars - 1 if metric == ACCURACY.name and self.test_chars is not None else None

    def cost(self, model: Model) -> Cost | None:
        symbols = SYMBOLS.get(self.corpus)
        return None if symbols is None else self._cost(model, symbols)

    def least_cost(self, model: Model) -> Cost | None:
        return self._cost(model, SYMBOLS.get(self.corpus, FEWEST_SYMBOLS))

    def least_examples(self) -> int:
        return max(CHARACTERS.get(self.corpus, 0) // self.sequence_length, FEWEST_EXAMPLES)

    def _cost(self, model: Model, symbols: int) -> Cost | None:
        steps = self.sequence_length - 1
        return model.with_readout(symbols, steps, symbols, read=steps) if isinstance(model, RecurrentModel) else None

    def needs(self) -> tuple[Need, ...]:
        return () if self.corpus == "file" else (Need(self.corpus, "corpus"),)
