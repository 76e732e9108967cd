"""Ready-made sweeps: every cell is a valid spec, and each file says what it repeats and its number of runs."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest

from normcore.spec import ExperimentSpec, read_spec, resolve
from service.sweeps import expansion
from service.sweeps.spec import read

FOLDER = Path(__file__).parents[2] / "examples" / "sweeps"
FILES = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in sorted(FOLDER.rglob("*.yaml"))}
GAINS = {"norm.gain_init": [0.1, 0.3, 0.5, 0.7, 1.0]}
BOTH = {"norm.method": ["none", "recurrent_batch_norm"]}
AS_PRINTED: Mapping[str, Mapping[str, list[Any]]] = {
    "rbn_figure_6/permuted_mnist": GAINS,
    "rbn_figure_6/permuted_mnist_small": GAINS,
    "rbn_figure_6/permuted_digits": GAINS,
    "rbn_figure_6/char_lm": GAINS,
    "rbn_figure_6/char_lm_small": GAINS,
    "rbn_table_5/sequential_mnist_gain": GAINS,
    **{
        f"rbn_table_5/{order}_mnist_{name}": {**BOTH, field: values}
        for order in ("sequential", "permuted")
        for name, field, values in (
            ("learning_rate", "training.optimizer.lr", [1e-2, 1e-3, 1e-4]),
            ("decay", "training.optimizer.decay", [0.5, 0.9]),
            ("hidden_size", "model.hidden_size", [100, 200, 400]),
        )
    },
    "rbn_table_5/char_lm": {
        **BOTH,
        "training.optimizer.lr": [1e-1, 1e-2, 2e-3, 1e-3],
        "model.hidden_size": [800, 1000, 1200, 1500, 2000],
    },
    "rbn_table_5/char_lm_batch_size": {**BOTH, "training.batch_size": [32, 64, 100, 128]},
    "rbn_table_5/text8": {
        **BOTH,
        "training.optimizer.lr": [1e-1, 1e-2, 1e-3],
        "model.hidden_size": [500, 1000, 2000, 4000],
    },
    "rbn_table_5/attentive_reader": {
        **BOTH,
        "training.optimizer.lr": [8e-3, 8e-4, 8e-5, 8e-6],
        "model.hidden_size": [60, 120, 240, 280],
    },
}
"""RBN Fig. 6 and Table 5, read from the paper a second time, with 0.002 where Table 5b prints 0.02."""


def cells(sweep: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], ExperimentSpec]]:
    """Values of each combination, and the resulting spec."""
    for values in product(*sweep["grid"].values()):
        chosen = dict(zip(sweep["grid"], values, strict=True))
        spec = deepcopy(sweep["spec"])
        for path, value in chosen.items():
            *parents, field = path.split(".")
            part = spec
            for parent in parents:
                part = part.setdefault(parent, {})
            part[field] = value
        yield chosen, resolve(spec)


def at(spec: ExperimentSpec, path: str) -> Any:
    value: Any = spec.model_dump()
    for name in path.split("."):
        value = value[name]
    return value


def test_grids_are_those_of_the_papers() -> None:
    assert {name: read_spec(path)["grid"] for name, path in FILES.items()} == AS_PRINTED


@pytest.mark.parametrize("name", FILES)
def test_every_cell_is_a_spec_of_its_own(name: str) -> None:
    sweep = read_spec(FILES[name])
    assert sweep.keys() == {"spec", "grid"}
    resolved = list(cells(sweep))
    for chosen, spec in resolved:
        assert {path: at(spec, path) for path in chosen} == chosen
        task = spec.task.model_dump()
        assert name.partition("/")[2].startswith((task["name"], task.get("corpus", task["name"])))
    assert len({spec.fingerprint() for _, spec in resolved}) == len(resolved) == prod(map(len, sweep["grid"].values()))


@pytest.mark.parametrize("name", FILES)
def test_service_makes_the_same_cells(name: str) -> None:
    written = read(read_spec(FILES[name]))
    made = [(values, resolve(expansion.spec_of(written, values))) for values in expansion.assignments(written)]
    by_hand = list(cells(read_spec(FILES[name])))
    assert [values for values, _ in made] == [chosen for chosen, _ in by_hand]
    assert [spec for _, spec in made] == [spec for _, spec in by_hand]
    assert (written.n_cells, written.most_runs) == (len(by_hand), sum(len(spec.seeds) for _, spec in by_hand))


@pytest.mark.parametrize(("name", "folder"), [("permuted_digits", "pixels"), ("char_lm_small", "text")])
def test_the_sections_of_figure_6_are_these_sweeps(name: str, folder: str) -> None:
    files = sorted((FOLDER.parent / "reproductions" / f"rbn_figure_6_{folder}").glob("*.yaml"))
    listed = [resolve(read_spec(file)) for file in files]
    assert [spec for _, spec in cells(read_spec(FILES[f"rbn_figure_6/{name}"]))] == listed


def test_table_5c_is_searched_around_section_5_3() -> None:
    section_5_3 = resolve(read_spec(FOLDER.parent / "specs" / "rbn_text8_bn_lstm.yaml"))
    sweep = read_spec(FILES["rbn_table_5/text8"])
    assert section_5_3.fingerprint() in {spec.fingerprint() for _, spec in cells(sweep)}


def test_assumed_misprint_is_described_as_our_reading() -> None:
    text = " ".join(FILES["rbn_table_5/char_lm"].read_text().split())
    assert "We take it for a misprint of 2e-3" in text.replace("# ", "")


@pytest.mark.parametrize("name", FILES)
def test_head_of_each_file_states_its_cost(name: str) -> None:
    text, sweep = FILES[name].read_text(), read_spec(FILES[name])
    assert re.match(r"# RBN (Fig\. 6|Table 5[abcd])", text)
    (runs,) = re.findall(r"^# Runs: (\d+),", text, re.MULTILINE)
    assert int(runs) == sum(len(spec.seeds) for _, spec in cells(sweep))
    updates = {spec.max_steps for _, spec in cells(sweep)}
    assert len(updates) == 1
    assert f"{updates.pop():,} updates" in text
