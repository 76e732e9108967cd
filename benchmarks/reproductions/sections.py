"""Sections of the page as data: a paper's claims, the specs that measure them, and the expected order of the specs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from normcore.figures.figure import PALETTE
from normcore.papers import Result, find_published_results
from normcore.spec import ExperimentSpec, TrainingSpec, read_spec, resolve
from normcore.spec.files import load_yaml

SECTIONS = Path(__file__).with_name("sections.yaml")
CURVES = "curves.svg"
TO_THE_TARGET = "steps_to_target"
SPECS = Path(__file__).parents[2] / "examples" / "reproductions"

Text = Annotated[str, Field(min_length=1)]


class Data(BaseModel):
    """Base class of data that is read from files. Unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Order(Data):
    """Expected order of specs, which is checked for every seed.

    Attributes:
        best_first: names of the specs, the best first.
        by: ``steps_to_target``, or a series at the last update; empty for the metric that ranks.
        source: who expects the order: the paper, or we.
        after_looking: True if no paper states the order, and we wrote it down after the first results.
    """

    best_first: Annotated[tuple[Text, ...], Field(min_length=2)]
    source: Text
    by: str = ""
    after_looking: bool = False


class Citation(Data):
    """Citation of published numbers: a task, and the table or figure that has the numbers."""

    task: Text
    where: Text

    def results(self) -> list[Result]:
        """Results of the paper itself, without those that it quotes from other work."""
        here = (result for result in find_published_results(self.task) if result.where == self.where)
        return [result for result in here if result.origin is None]


class Sample(Data):
    """Sample that a model made, shown as a picture or as text.

    Attributes:
        spec: name of the spec whose run made the sample.
        artifact: name of the artifact; a figure if it ends in ``.json``, text if it ends in ``.txt``.
        shows: title of the sample.
        lines: number of lines that are shown of a text.
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
        """File name of the picture in the section's folder."""
        return f"{self.spec}-{self.artifact.rpartition('/')[2]}".replace(".json", ".svg")


class Section(Data):
    """Section of the page, about one table or figure of a paper.

    Attributes:
        specs: folder of ``examples/reproductions``; each file in it is a row.
        claims: the paper's claim, in words.
        differs: differences of the protocol from the paper's, in words.
        shows: name of one more series, shown at the last update; may be empty.
        baseline: spec to whose best level the times of all specs are measured; may be empty.
        draws: specs whose learning curves are drawn, each in its own colour.
        samples: samples that the model of the first seed makes.
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
        """Resolved specs by file name: first those of the last expected order, in this order, then the others."""
        expected = self.orders[-1].best_first if self.orders else ()
        found = _resolve_folder(SPECS / self.specs)
        return {name: found[name] for name in dict.fromkeys([*expected, *found])}

    def trainings(self) -> dict[str, TrainingSpec]:
        """Resolved specs of trainings, by file name."""
        return {name: spec for name, spec in self.resolved().items() if isinstance(spec, TrainingSpec)}


@cache
def _resolve_folder(folder: Path) -> Mapping[str, ExperimentSpec]:
    """Resolve the specs in ``folder`` once, because the page asks for them at each table and order."""
    return {file.stem: resolve(read_spec(file)) for file in sorted(folder.glob("*.yaml"))}


def sections() -> list[Section]:
    """Read all sections, in the order of the page.

    Raises:
        pydantic.ValidationError: a value of ``sections.yaml`` is wrong.
    """
    read: list[Section] = TypeAdapter(list[Section]).validate_python(load_yaml(SECTIONS.read_text(encoding="utf-8")))
    return read
