"""Relatedness of two sentences, from their vectors: SICK (Marelli et al. 2014; Kiros et al. 2015, section 3.1).

Shapes: N pairs, D numbers of a vector.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

SCORES = 5  # from 1, unrelated, to 5
EPOCHS, BATCH = 100, 128  # Keras's defaults then, which the authors' code leaves
SEED = 1234  # of the order of the pairs, which is the same in every epoch
MOST_ROUNDS = 20
ROUNDING = 1e-6  # of sums in float32


class Pairs(NamedTuple):
    """Vectors of both sentences (N, D), and how related people find them, 1 to 5 (N)."""

    first: np.ndarray
    second: np.ndarray
    scores: np.ndarray


class Relatedness(NamedTuple):
    """Agreement of expected scores with people's scores."""

    pearson: float
    spearman: float
    mse: float


def relatedness(train: Pairs, valid: Pairs, test: Pairs) -> Relatedness:
    """Train a softmax over scores on ``train``, in rounds of 100 epochs until one does not gain in Pearson's r on
    ``valid``; how its expected scores fit ``test``'s. The last round's model is that before it.

    Deviation: there are at most ``MOST_ROUNDS`` rounds; the authors' code has no such end.
    """
    from scipy.stats import pearsonr, spearmanr

    features = [_features(pairs) for pairs in (train, valid, test)]
    predicted = _fitted(
        features[0], soft_labels(train.scores), lambda w: _correlated(pearsonr, _expected(w, features[1]), valid.scores)
    )
    found = _expected(predicted, features[2])
    return Relatedness(
        _correlated(pearsonr, found, test.scores),
        _correlated(spearmanr, found, test.scores),
        float(np.mean((found - test.scores) ** 2)),
    )


def soft_labels(scores: np.ndarray) -> np.ndarray:
    """(N, 5): a score between two whole ones is shared by them (Tai et al. 2015, arXiv:1503.00075, Eq. 15)."""
    labels = np.zeros((len(scores), SCORES))
    for row, score in zip(labels, scores, strict=True):
        floor = int(np.floor(score))
        row[floor - 1] = floor + 1 - score
        if floor < SCORES:
            row[floor] = score - floor
    return labels


def _features(pairs: Pairs) -> Tensor:
    """|a - b| and a b (N, 2 D)."""
    both = np.concatenate([np.abs(pairs.first - pairs.second), pairs.first * pairs.second], 1)
    return torch.from_numpy(both).float()


def _fitted(x: Tensor, labels: np.ndarray, score: Callable[[Tensor], float]) -> Tensor:
    """Weights (5, 2 D + 1), the last column biases; those of the best round."""
    order = np.random.RandomState(SEED).permutation(len(x))
    x, targets = x[order], torch.from_numpy(labels).float()[order]
    with torch.enable_grad():
        bound = (6 / (x.shape[1] + SCORES)) ** 0.5
        generator = torch.Generator().manual_seed(0)
        weights = torch.rand(SCORES, x.shape[1] + 1, generator=generator) * 2 * bound - bound
        weights[:, -1] = 0
        weights.requires_grad_()
        adam = torch.optim.Adam([weights])
        best = -1.0
        kept: Tensor = weights.detach().clone()
        for _ in range(MOST_ROUNDS):
            for _ in range(EPOCHS):
                for rows in torch.split(torch.arange(len(x)), BATCH):
                    adam.zero_grad()
                    loss = functional.cross_entropy(_logits(weights, x[rows]), targets[rows])
                    loss.backward()  # type: ignore[no-untyped-call]
                    adam.step()
            gained = score(weights.detach())
            if gained <= best:
                break
            best, kept = gained, weights.detach().clone()
    return kept


def _logits(weights: Tensor, x: Tensor) -> Tensor:
    return functional.linear(x, weights[:, :-1], weights[:, -1])


def _expected(weights: Tensor, x: Tensor) -> np.ndarray:
    expected: Tensor = _logits(weights, x).softmax(1) @ torch.arange(1.0, SCORES + 1)
    return expected.double().numpy()


def _correlated(how: Callable[..., Any], found: np.ndarray, scores: np.ndarray) -> float:
    """Numbers that are all the same are correlated with nothing."""
    return 0.0 if _are_alike(found) or _are_alike(scores) else float(how(found, scores).statistic)


def _are_alike(numbers: np.ndarray) -> bool:
    """Up to rounding: a product may round the rows of a matrix in different ways."""
    return bool(np.ptp(numbers) <= ROUNDING * np.abs(numbers).max())
