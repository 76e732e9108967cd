"""Sentiment and the like from sentence vectors, by logistic regression (Kiros et al. 2015, section 3.4).

Shapes: N sentences, D numbers of a vector.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

FOLDS = 10
SEED = 1234  # of the order in which the authors' code cuts folds
STRENGTHS = tuple(2.0**k for k in range(9))  # C, of which the inner folds choose


def nested_accuracy(vectors: np.ndarray, labels: np.ndarray) -> float:
    """Mean accuracy over ten folds, for each of which ten folds of the rest have chosen C.

    Args:
        vectors: (N, D).
        labels: (N), 0 or 1.
    """
    vectors, labels = _shuffled(vectors, labels)
    scores = []
    for train, test in KFold(FOLDS).split(vectors):
        inner = [_mean_accuracy(vectors[train], labels[train], strength) for strength in STRENGTHS]
        best = STRENGTHS[int(np.argmax(inner))]
        scores.append(_accuracy(vectors, labels, train, test, best))
    return float(np.mean(scores))


def plain_accuracy(vectors: np.ndarray, labels: np.ndarray, strength: float = 16.0) -> float:
    """The same with one C: a tenth of a hundredth of the work, for curves."""
    return _mean_accuracy(*_shuffled(vectors, labels), strength)


def _mean_accuracy(vectors: np.ndarray, labels: np.ndarray, strength: float) -> float:
    splits = KFold(FOLDS).split(vectors)
    return float(np.mean([_accuracy(vectors, labels, train, test, strength) for train, test in splits]))


def _accuracy(
    vectors: np.ndarray, labels: np.ndarray, train: Sequence[int], test: Sequence[int], strength: float
) -> float:
    if len(set(labels[train])) < 2:
        return float(np.mean(labels[test] == labels[train][0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=100).fit(vectors[train], labels[train])
    return float(model.score(vectors[test], labels[test]))


def _shuffled(vectors: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.RandomState(SEED).permutation(len(labels))
    return vectors[order], labels[order]
