"""Logistic regression with a regularization chosen by inner folds equals scikit-learn's grid search."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from normcore.downstream import classification
from normcore.downstream.classification import SEED, nested_accuracy, plain_accuracy

STRENGTHS = (0.03, 1.0, 32.0)


@pytest.fixture
def few_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose from three values of C by five folds, which takes 80 fits. Nine values and ten folds take 910."""
    monkeypatch.setattr(classification, "STRENGTHS", STRENGTHS)
    monkeypatch.setattr(classification, "FOLDS", 5)


def examples(count: int = 120, size: int = 6, noise: float = 2.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(seed)
    labels = random.randint(2, size=count)
    return random.randn(count, size) * noise + labels[:, None], labels


@pytest.mark.usefixtures("few_fits")
def test_nested_folds_are_those_of_a_grid_search_in_each_fold() -> None:
    """Choosing C with the test fold included would give another C and a better score for these examples."""
    vectors, labels = examples(40, 20, 1.5, seed=2)
    order = np.random.RandomState(SEED).permutation(len(labels))
    vectors, labels = vectors[order], labels[order]
    search = GridSearchCV(LogisticRegression(), {"C": list(STRENGTHS)}, cv=KFold(5))
    expected = cross_val_score(search, vectors, labels, cv=KFold(5)).mean()
    unordered = np.argsort(order)
    assert nested_accuracy(vectors[unordered], labels[unordered]) == pytest.approx(expected, abs=1e-12)
    by_all = LogisticRegression(C=search.fit(vectors, labels).best_params_["C"])
    assert cross_val_score(by_all, vectors, labels, cv=KFold(5)).mean() > expected + 0.01
    assert 0.6 < expected < 0.95


def test_plain_folds_use_a_single_strength() -> None:
    vectors, labels = examples()
    order = np.random.RandomState(SEED).permutation(len(labels))
    model = LogisticRegression(C=16.0)
    expected = cross_val_score(model, vectors[order], labels[order], cv=KFold(10)).mean()
    assert plain_accuracy(vectors, labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("few_fits")
def test_constant_vectors_give_the_more_frequent_label() -> None:
    labels = np.array([0] * 70 + [1] * 30)
    assert plain_accuracy(np.zeros((100, 3)), labels) == pytest.approx(0.7)
    assert nested_accuracy(np.zeros((100, 3)), labels) == pytest.approx(0.7)


def test_single_label_has_an_accuracy_of_1() -> None:
    assert plain_accuracy(examples(40)[0], np.zeros(40, dtype=int)) == 1


@pytest.mark.usefixtures("few_fits")
def test_generator_of_numpy_is_unchanged() -> None:
    np.random.seed(3)
    before = np.random.get_state()[1]  # type: ignore[index]
    nested_accuracy(*examples(40))
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]
