"""Sentiment and the like from sentence vectors, by logistic regression (Kiros et al. 2015, section 3.4).

Deviation: the solver is scikit-learn's choice of today, which leaves the intercept out of the penalty, and stops after
100 iterations; the authors' version chose another.

Shapes: N sentences, D numbers of a vector.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

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
    with _one_thread():
        scores = [_chosen_accuracy(vectors, labels, train, test) for train, test in _folds(vectors)]
    return float(np.mean(scores))


def plain_accuracy(vectors: np.ndarray, labels: np.ndarray, strength: float = 16.0) -> float:
    """Accuracy with one C only: a ninetieth of the work, for curves."""
    with _one_thread():
        return _mean_accuracy(*_shuffled(vectors, labels), strength)


def _one_thread() -> threadpool_limits:
    """Products are small here, and there are thousands: where cores are busy, two threads of BLAS that wait for each
    other were seen to take 26 times as long as one."""
    return threadpool_limits(1, user_api="blas")


def _chosen_accuracy(vectors: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    inner = [_mean_accuracy(vectors[train], labels[train], strength) for strength in STRENGTHS]
    return _accuracy(vectors, labels, train, test, STRENGTHS[int(np.argmax(inner))])


def _folds(vectors: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold

    yield from KFold(FOLDS).split(vectors)


def _mean_accuracy(vectors: np.ndarray, labels: np.ndarray, strength: float) -> float:
    return float(np.mean([_accuracy(vectors, labels, train, test, strength) for train, test in _folds(vectors)]))


def _accuracy(vectors: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray, strength: float) -> float:
    if len(set(labels[train])) < 2:
        return float(np.mean(labels[test] == labels[train][0]))
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=100).fit(vectors[train], labels[train])
    found = vectors[test] @ model.coef_[0] + model.intercept_[0] > 0  # ``score``, without its checks of each call
    return float(np.mean(labels[test] == model.classes_[found.astype(int)]))


def _shuffled(vectors: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.RandomState(SEED).permutation(len(labels))
    return vectors[order], labels[order]
