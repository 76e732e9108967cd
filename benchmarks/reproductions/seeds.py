"""Results by seed, from which verdicts are computed.

They come from a database of runs, from the file beside the page, or from the table in the earlier page.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter
from scipy.special import stdtrit

from benchmarks.reproductions.markdown import NOT_RUN, Row, words
from benchmarks.reproductions.measurements import SpecResults
from benchmarks.reproductions.sections import Data
from normcore.spec.training import Training
from normcore.target import Time
from service.statistics.differences import PAIRED_FROM
from service.statistics.spread import LEVEL

FILE = "seeds.json"
NUMBER = r"-?[\d,.]+(?:e[-+]?\d+)?"
INTERVAL = re.compile(rf"({NUMBER}) to ({NUMBER})")
PRINTED_AT_95 = frozenset({"b36785e", "00448dd", "0d54b38", "5a10a88", "6c02462", "cd03262", "bd0cfa7"})
"""Commits whose sections have intervals by Student's t at 95%. Later sections have t at 97%, and a file of seeds."""
COMMITS = re.compile(r"commit\s([0-9a-f]{7}(?:,\s[0-9a-f]{7})*),")


class Seeds(Data):
    """Results of one spec, by seed.

    Attributes:
        values: test values of the metric that ranks; None for a diverged run.
        score: score as on boards: mean of the values, in which a diverged seed counts as the level without skill.
        times: times to the target: if it was reached, updates, seconds. None if they are not known.
        shown: last values of the section's other series; None if they are not known.
        max_steps: updates of a run.
        first_evaluation: updates until a run is evaluated for the first time.
        is_printed: True if ``values`` are made up, with the printed mean and spread, because seeds are not known.
    """

    values: dict[int, float | None]
    score: float | None
    times: dict[int, Time] | None = None
    shown: dict[int, float | None] | None = None
    max_steps: int = 0
    first_evaluation: int = 0
    is_printed: bool = False

    @classmethod
    def of(cls, run: SpecResults, training: Training) -> Self:
        """Make the results from the runs of a database."""
        return cls(
            values=dict(run.values),
            score=run.pooled.score,
            times=dict(run.times),
            shown={seed: value if math.isfinite(value) else None for seed, value in run.shown.items()},
            max_steps=training.max_steps,
            first_evaluation=training.eval_every,
        )

    @property
    def converged(self) -> dict[int, float]:
        """Values of the seeds that did not diverge."""
        return {seed: value for seed, value in self.values.items() if value is not None}

    @property
    def is_unresolved(self) -> bool:
        """True if a seed reaches the target at or before the first evaluation."""
        return any(time.reached and time.steps <= self.first_evaluation for time in (self.times or {}).values())


OfSections = Mapping[str, Mapping[str, Seeds]]
"""Results by the section's folder of specs, then by the name of the spec."""

_STORED: TypeAdapter[dict[str, dict[str, Seeds]]] = TypeAdapter(dict[str, dict[str, Seeds]])


def read(file: Path) -> OfSections:
    """Read the file of results beside a page; empty if there is no file.

    Raises:
        pydantic.ValidationError: a value in the file is wrong.
    """
    return _STORED.validate_json(file.read_bytes()) if file.exists() else {}


def write(file: Path, seeds: OfSections) -> None:
    """Write the results of all sections to a file, one spec in each line."""
    known = {name: of_specs for name, of_specs in sorted(seeds.items()) if of_specs}
    sections = (f"{json.dumps(name)}: {{\n{_lines(of_specs)}\n}}" for name, of_specs in known.items())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n" + ",\n".join(sections) + "\n}\n", encoding="utf-8")


def _lines(of_specs: Mapping[str, Seeds]) -> str:
    left_out = {"is_printed"}
    return ",\n".join(
        f"{json.dumps(name)}: {seeds.model_dump_json(exclude=left_out)}" for name, seeds in of_specs.items()
    )


def read_table(section: str, names: Iterable[str], rows: Iterable[Row]) -> dict[str, Seeds]:
    """Make up results by seed from the means and intervals of a section's table.

    Welch's test of two means needs only the number of seeds, their mean and their spread. So as many made-up values
    with the same mean and spread give the same verdict as the true values.

    Args:
        section: text of the section, which names the commits that measured it.
        names: names of the specs.
        rows: rows of the section's table of results.
    """
    commits = COMMITS.search(section)
    if commits is None or not set(re.split(r",\s", commits[1])) <= PRINTED_AT_95:
        return {}
    found = {row[0]: _stand_in(row) for row in rows if row[1] != NOT_RUN}
    return {name: seeds for name in names if (seeds := found.get(words(name))) is not None}


def _stand_in(row: Row) -> Seeds | None:
    _, count, mean, interval, *_ = row
    n, limits = int(count), INTERVAL.fullmatch(interval)
    if n == 1:
        return Seeds(values={0: _read(mean)}, score=_read(mean), is_printed=True)
    if limits is None or n >= PAIRED_FROM:
        return None
    center, low, high = map(_read, (mean, *limits.groups()))
    spread = (high - low) / 2 * math.sqrt(n) / float(stdtrit(n - 1, (1 + LEVEL) / 2))
    return Seeds(values=dict(enumerate(_spread_out(n, center, spread))), score=center, is_printed=True)


def _spread_out(n: int, mean: float, std: float) -> list[float]:
    """Make ``n`` equally spaced values with a given mean and standard deviation."""
    places = [k - (n - 1) / 2 for k in range(n)]
    unit = math.sqrt(sum(place**2 for place in places) / (n - 1))
    return [mean + std * place / unit for place in places]


def _read(text: str) -> float:
    return float(text.replace(",", ""))
