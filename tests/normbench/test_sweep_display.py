"""A sweep in the terminal: its verdict first, and the importance of its fields last."""

import io
import json
from typing import Any

from rich.console import Console

from normbench.display.sweeps import sweep
from service.sweeps import schemas
from service.sweeps.examples import IMPORTANCE, SWEEP

FOUND: Any = json.loads(schemas.SWEEP.dump_json(SWEEP))
EXPLAINED: Any = json.loads(schemas.IMPORTANCE.dump_json(IMPORTANCE))


def printed(found: Any, importance: Any = None) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    console.print(sweep(found, importance))
    assert isinstance(console.file, io.StringIO)
    return [line.strip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_the_verdict_comes_first() -> None:
    assert printed(FOUND)[0].startswith(SWEEP.verdict.claim)


def test_importance_comes_last_with_what_the_forest_explains() -> None:
    lines = printed(FOUND, EXPLAINED)
    assert "Importance of the fields, by a random forest that explains 81% of the variance out of bag" in lines
    assert [line.split() for line in lines[-2:]] == [["lr", "1.32"], ["gain_init", "0.21"]]
    assert printed(FOUND, {**EXPLAINED, "explained": None, "fields": []}) == printed(FOUND)
