"""Classification of sentences, such as their sentiment, by logistic regression on vectors (Kiros et al. 2015, section
3.4).

Deviation: scikit-learn's present default solver is used, for at most 100 iterations. It does not penalize the
intercept. The authors' version of scikit-learn had another default.

Shapes: N sentences, vectors of D numbers.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

FOLDS = 10
SEED = 1234  # of the shuffle before the folds, as in the authors' code
STRENGTHS = tuple(2.0**k for k in range(9))  # values of C that the inner folds choose from


def nested_accuracy(vectors: np.ndarray, labels: np.ndarray) -> float:
    """Mean test accuracy of ten-fold cross-validation. For each fold, C is chosen by ten inner folds of the other nine.

    Args:
        vectors: (N, D).
        labels: (N,), 0 or 1.
    """
    vectors, labels = _shuffle_examples(vectors, labels)
    with _one_thread():
        scores = [_chosen_accuracy(vectors, labels, train, test) for train, test in _folds(vectors)]
    return float(np.mean(scores))


def plain_accuracy(vectors: np.ndarray, labels: np.ndarray, strength: float = 16.0) -> float:
    """Mean accuracy of ten folds with one fixed C, ``strength``. It takes a ninetieth of the work; used for curves."""
    with _one_thread():
        return _mean_accuracy(*_shuffle_examples(vectors, labels), strength)


def _one_thread() -> threadpool_limits:
    """Limit BLAS to one thread. There are thousands of small products; two threads on busy cores were seen to take 26
    times as long as one thread."""
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
    found = vectors[test] @ model.coef_[0] + model.intercept_[0] > 0  # as ``score``, without its checks of each call
    return float(np.mean(labels[test] == model.classes_[found.astype(int)]))


def _shuffle_examples(vectors: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.RandomState(SEED).permutation(len(labels))
    return vectors[order], labels[order]
