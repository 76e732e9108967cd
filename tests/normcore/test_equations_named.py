"""Whoever has a paper beside the code finds every equation that defines a computation, in one place."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import normcore

EQUATIONS = {
    "LN": {
        *range(1, 8),  # a layer, batch norm, layer norm, in an RNN, the common form, invariances to weights and a case
        *range(8, 15),  # divergence, Fisher matrix, generalized linear models, normalized ones
        *range(15, 17),  # the appendix's LN(z; alpha, beta)
        *range(17, 23),  # LSTM, without and with
        *range(23, 29),  # GRU, without and with
        *range(29, 32),  # DRAW's LSTM
        *range(32, 36),  # metrics of the gains
    },
    "RBN": {
        *range(14, 17),  # batch-normalized LSTM, by the numbers of the arXiv text
    },
}
NAMED = re.compile(r"\b(LN|RBN) Eq\. (\d+(?:-\d+)?(?:(?:, | and )\d+(?:-\d+)?)*)")


def docstrings() -> Iterator[str]:
    for path in Path(normcore.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield re.sub(r"\s+", " ", ast.get_docstring(node) or "")


def named_in(docstring: str) -> set[tuple[str, int]]:
    found = set()
    for paper, numbers in NAMED.findall(docstring):
        for part in re.split(", | and ", numbers):
            first, _, last = part.partition("-")
            found |= {(paper, number) for number in range(int(first), int(last or first) + 1)}
    return found


def test_numbers_are_read_as_people_write_them() -> None:
    assert named_in("as LN Eq. 4, 20-22 and 15, RBN Eq. 9") == {("LN", n) for n in (4, 15, 20, 21, 22)} | {("RBN", 9)}


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_equation_is_named_in_exactly_one_docstring(paper: str) -> None:
    counted = Counter(equation for docstring in docstrings() for equation in named_in(docstring))
    assert {number: times for (of, number), times in counted.items() if of == paper} == dict.fromkeys(
        EQUATIONS[paper], 1
    )
