"""Importance of a sweep's fields: how much worse a random forest predicts the cells' values if a field is shuffled.

Permutation importance (Breiman 2001, doi:10.1023/A:1010933404324) on out-of-bag cells: each tree is asked only about
cells that it was not fitted to. It describes the cells of this sweep, and proves nothing. scikit-learn is imported
inside a function: the import takes a second, and few need it.
"""

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from service.http.answer_cache import AnswerCache
from service.sweeps.board_results import Version
from service.sweeps.levels import fields_of
from service.sweeps.schemas import IMPORTANCE, FieldImportance, Importance, Sweep

FEWEST_CELLS = 10
TREES = 100
SHUFFLES = 10
NOT_INSTALLED = "scikit-learn is not installed on the server; install it with: pip install 'normbench[server]'"
TOO_FEW = f"importance needs at least {FEWEST_CELLS} cells with values"
ALL_EQUAL = "all cells have the same value, so no field matters"
NO_VALUES = "the cells do not compare, because they are of several boards or of an analysis"
EXPLAINS_NOTHING = "the forest predicts new cells no better than their mean, so these numbers say nothing"

Floats = NDArray[np.float64]


def importance(sweep: Sweep, scores: Sequence[float | None], answer_cache: AnswerCache, version: Version) -> Importance:
    """Importance of the fields of a sweep. It is cached until a run is added to one of the sweep's boards.

    Args:
        scores: test value of each cell as a search finds it; None for a cell without a value.
    """

    asked = ("importance", sweep.id)
    content = answer_cache.get(asked, version, lambda: IMPORTANCE.dump_json(explain(sweep, scores)))
    return IMPORTANCE.validate_json(content)


def explain(sweep: Sweep, scores: Sequence[float | None]) -> Importance:
    """Compute the importance of the fields of a sweep; without numbers, ``note`` says why."""
    known = [number for number, score in enumerate(scores) if score is not None]
    values = np.array([scores[number] for number in known], dtype=np.float64)
    fields = [field for field in fields_of(sweep) if len({field.places[number] for number in known}) > 1]
    note = _why_none(sweep, values)
    if note or not fields:
        return Importance(len(known), None, [], note or ALL_EQUAL)
    places = np.array([[field.places[number] for number in known] for field in fields]).T
    explained, losses = _ask_forest(places, values)
    found = [FieldImportance(field.path, float(loss)) for field, loss in zip(fields, losses, strict=True)]
    found.sort(key=lambda one: -one.importance)
    return Importance(len(known), explained, found, EXPLAINS_NOTHING if explained <= 0 else None)


def _why_none(sweep: Sweep, values: Floats) -> str | None:
    if sweep.metric is None or (not len(values) and any(cell.entry for cell in sweep.cells)):
        return NO_VALUES
    if len(values) < FEWEST_CELLS:
        return f"{TOO_FEW}; this sweep has {len(values)}"
    if values.min() == values.max():
        return ALL_EQUAL
    return NOT_INSTALLED if find_spec("sklearn") is None else None


def _ask_forest(places: Floats, values: Floats) -> tuple[float, Floats]:
    """Fit a forest.

    Returns:
        Share of the variance of the values that the forest explains out of bag, and how much of this share is lost if
        a field is shuffled, for each field.
    """
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(TREES, random_state=0).fit(places, values)
    dice = np.random.default_rng(0)
    n_cells, n_fields = places.shape
    asked = np.repeat(places[None], 1 + n_fields * SHUFFLES, axis=0)  # unchanged, then with one field shuffled
    for number in range(n_fields * SHUFFLES):
        asked[1 + number, :, number // SHUFFLES] = dice.permutation(places[:, number // SHUFFLES])
    sums, counts = np.zeros(asked.shape[:2]), np.zeros(n_cells)
    for tree, inside in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(n_cells), inside)
        sums[:, outside] += tree.predict(asked[:, outside].reshape(-1, n_fields)).reshape(len(asked), -1)
        counts[outside] += 1
    seen = counts > 0
    spread = ((values[seen] - values[seen].mean()) ** 2).sum()
    explained = 1 - ((sums[:, seen] / counts[seen] - values[seen]) ** 2).sum(axis=1) / spread
    return float(explained[0]), explained[0] - explained[1:].reshape(n_fields, SHUFFLES).mean(axis=1)
