"""The page's sections as data: what a paper claims, which specs measure it, and in which order they should come out."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from normcore.figures.figure import PALETTE
from normcore.published import Result, published
from normcore.spec import ExperimentSpec, TrainingSpec, read_spec, resolve
from normcore.spec.files import load_yaml

SECTIONS = Path(__file__).with_name("sections.yaml")
CURVES = "curves.svg"
TO_THE_TARGET = "steps_to_target"
SPECS = Path(__file__).parents[2] / "examples" / "reproductions"

Text = Annotated[str, Field(min_length=1)]


class Data(BaseModel):
    """Values of the file, no more and no less."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Order(Data):
    """Something to hold against every seed.

    Attributes:
        best_first: names of specs.
        by: ``steps_to_target``, or a series at the last update; empty for the metric that ranks.
        source: who says so: the paper, or nobody before us.
        after_looking: whether no paper says so, and the history of this file has it only after its first results.
    """

    best_first: Annotated[tuple[Text, ...], Field(min_length=2)]
    source: Text
    by: str = ""
    after_looking: bool = False


class Citation(Data):
    """Published numbers, by the table or figure where they stand."""

    task: Text
    where: Text

    def results(self) -> list[Result]:
        """The paper's own, and none that it quotes."""
        here = (result for result in published(self.task) if result.where == self.where)
        return [result for result in here if result.origin is None]


class Sample(Data):
    """Something that a model made, shown as a picture, or as text.

    Attributes:
        spec: whose run made it.
        artifact: as the task names it; a figure if it ends in ``.json``, text if it ends in ``.txt``.
        shows: what one sees there.
        lines: of a text, from its beginning.
    """

    spec: Text
    artifact: Text
    shows: Text
    lines: int = Field(10, ge=1)

    @property
    def is_text(self) -> bool:
        return self.artifact.endswith(".txt")

    @property
    def file(self) -> str:
        """The picture's name in the section's folder."""
        return f"{self.spec}-{self.artifact.rpartition('/')[2]}".replace(".json", ".svg")


class Section(Data):
    """One table or figure of a paper.

    Attributes:
        specs: a folder of ``examples/reproductions``; each file is a row.
        claims: what the paper says, in words.
        differs: how far the protocol is from the paper's.
        shows: one series besides, at the last update.
        baseline: the spec to whose best level the times of all are told; empty for none.
        draws: specs whose learning curves are shown, each in a colour of its own.
        samples: of what the first seed's model makes.
        looks_into: analyses of the trained runs.
    """

    title: Text
    specs: Text
    claims: Text
    differs: Text
    published: tuple[Citation, ...] = ()
    orders: tuple[Order, ...] = ()
    shows: str = ""
    baseline: str = ""
    draws: tuple[Text, ...] = Field((), max_length=len(PALETTE))
    samples: tuple[Sample, ...] = ()
    looks_into: tuple[Text, ...] = ()

    def resolved(self) -> dict[str, ExperimentSpec]:
        """Each spec by its file's name, in the order of the last expectation, others after these."""
        expected = self.orders[-1].best_first if self.orders else ()
        found = {file.stem: resolve(read_spec(file)) for file in sorted((SPECS / self.specs).glob("*.yaml"))}
        return {name: found[name] for name in dict.fromkeys([*expected, *found])}

    def trainings(self) -> dict[str, TrainingSpec]:
        """The specs that train."""
        return {name: spec for name, spec in self.resolved().items() if isinstance(spec, TrainingSpec)}


def sections() -> list[Section]:
    """All of them, as the page has them.

    Raises:
        pydantic.ValidationError: the file does not hold what it should.
    """
    read: list[Section] = TypeAdapter(list[Section]).validate_python(load_yaml(SECTIONS.read_text(encoding="utf-8")))
    return read
