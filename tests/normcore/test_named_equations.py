"""Every equation of the papers is listed here with its implementation, whose docstring names the number."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import normcore

PACKAGE = Path(normcore.__file__).parent
CELLS, NORMS = "normcore.cells", "normcore.norms"
FISHER, INVARIANCES = "normcore.analyses.fisher_matrices", "normcore.analyses.invariances"
EQUATIONS = {
    "LN": {  # numbers as printed in arXiv:1607.06450v1
        (1,): f"{FISHER}.normalize_sums",  # the summed inputs of a layer
        (2,): f"{NORMS}.batch_norm.BatchNormLayer",
        (3,): f"{NORMS}.layer_norm.LayerNormalized",
        (4,): f"{CELLS}.rnn.RNN",
        (5,): f"{FISHER}.outputs",  # the common form of three methods
        (6, 7): f"{INVARIANCES}.invariances",  # invariance to weights, and to a training case
        (8,): f"{FISHER}.bernoulli_divergence",
        (9,): f"{FISHER}.fisher_matrix",
        (10,): f"{FISHER}.log_partition",
        (11,): f"{FISHER}.output_covariance",
        (12,): f"{FISHER}.kronecker_fisher",
        (13,): f"{FISHER}.normalized_fisher",
        (14,): f"{FISHER}.chi",
        (15, 16): f"{NORMS}.layer_norm.LayerNorm",
        (17, 18, 19, 20, 21, 22): f"{CELLS}.lstm.LSTM",
        (23, 24, 25, 26, 27, 28): f"{CELLS}.gru.GRU",
        (29, 30, 31): f"{CELLS}.lstm.LSTM",  # LSTM of DRAW
        (32,): f"{FISHER}.printed_batch_norm_gain_metric",
        (33, 34): f"{FISHER}.gain_metric",
        (35,): f"{FISHER}.projected_gain_metric",
    },
    "RBN": {  # numbers as in arXiv:1603.09025; a system of several lines has several numbers
        (1,): f"{CELLS}.rnn.RNN",
        (6, 7, 8): f"{CELLS}.lstm.LSTM",
        (9,): f"{NORMS}.recurrent_batch_norm.BatchNormAtSite",
        (14, 15, 16): f"{CELLS}.lstm.LSTM",
    },
}
NAMED = re.compile(r"\b(LN|RBN) Eq\. (\d+(?:-\d+)?(?:(?:, | and )\d+(?:-\d+)?)*)")


def named_in(docstring: str) -> set[tuple[str, int]]:
    found = set()
    for paper, numbers in NAMED.findall(re.sub(r"\s+", " ", docstring)):
        for part in re.split(", | and ", numbers):
            first, _, last = part.partition("-")
            found |= {(paper, number) for number in range(int(first), int(last or first) + 1)}
    return found


def at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name)


def test_numbers_are_read_as_people_write_them() -> None:
    assert named_in("as LN Eq. 4, 20-22 and\n 15, RBN Eq. 9") == {("LN", n) for n in (4, 15, 20, 21, 22)} | {("RBN", 9)}


@pytest.mark.parametrize(
    ("paper", "numbers", "place"),
    [(paper, numbers, place) for paper, places in EQUATIONS.items() for numbers, place in places.items()],
)
def test_docstring_of_the_implementation_names_its_equation(paper: str, numbers: tuple[int, ...], place: str) -> None:
    assert {(paper, number) for number in numbers} <= named_in(at(place).__doc__ or "")


def test_the_table_has_every_equation_of_the_papers() -> None:
    listed = {paper: sorted(n for numbers in places for n in numbers) for paper, places in EQUATIONS.items()}
    assert listed == {"LN": list(range(1, 36)), "RBN": [1, 6, 7, 8, 9, 14, 15, 16]}


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_every_equation_named_in_the_code_exists_in_the_papers(file: Path) -> None:
    """The code includes comments, and the sources that findings name."""
    numbers = {(paper, n) for paper, places in EQUATIONS.items() for numbers in places for n in numbers}
    assert named_in(file.read_text()) <= numbers
