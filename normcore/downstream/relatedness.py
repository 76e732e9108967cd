"""Relatedness of two sentences, predicted from their vectors: SICK (Marelli et al. 2014; Kiros et al. 2015, section
3.1).

Shapes: N pairs of sentences, vectors of D numbers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

SCORES = 5  # scores run from 1, unrelated, to 5
EPOCHS, BATCH = 100, 128  # Keras's defaults of that time; the authors' code does not set them
SEED = 1234  # of the order of the pairs; every epoch has the same order
MAX_ROUNDS = 20
ROUNDING = 1e-6  # relative rounding error of sums in float32


class Pairs(NamedTuple):
    """Pairs of sentences: vectors of the first and the second sentences (N, D), and people's scores (N,), 1 to 5."""

    first: np.ndarray
    second: np.ndarray
    scores: np.ndarray


class Relatedness(NamedTuple):
    """Agreement of predicted scores with people's scores: Pearson's r, Spearman's rho, mean squared error."""

    pearson: float
    spearman: float
    mse: float


def relatedness(train: Pairs, valid: Pairs, test: Pairs) -> Relatedness:
    """Train a softmax over the scores 1 to 5 on ``train``, and measure the fit of the expected scores on ``test``.

    Training goes in rounds of 100 epochs. It stops at the first round that does not raise Pearson's r on ``valid``; the
    model of the round before is used.

    Deviation: there are at most ``MAX_ROUNDS`` rounds; the authors' code has no limit.
    """
    from scipy.stats import pearsonr, spearmanr

    features = [_features(pairs) for pairs in (train, valid, test)]
    predicted = _fit_weights(
        features[0],
        soft_labels(train.scores),
        lambda w: _correlate_scores(pearsonr, _expect_scores(w, features[1]), valid.scores),
    )
    found = _expect_scores(predicted, features[2])
    return Relatedness(
        _correlate_scores(pearsonr, found, test.scores),
        _correlate_scores(spearmanr, found, test.scores),
        float(np.mean((found - test.scores) ** 2)),
    )


def soft_labels(scores: np.ndarray) -> np.ndarray:
    """Turn scores (N,) into target distributions (N, 5).

    A score between two whole scores is divided among the two (Tai et al. 2015, arXiv:1503.00075, Eq. 15).
    """
    labels = np.zeros((len(scores), SCORES))
    for row, score in zip(labels, scores, strict=True):
        floor = int(np.floor(score))
        row[floor - 1] = floor + 1 - score
        if floor < SCORES:
            row[floor] = score - floor
    return labels


def _features(pairs: Pairs) -> Tensor:
    """Features (N, 2 D) of pairs of vectors a and b: |a - b| and the elementwise product a b."""
    both = np.concatenate([np.abs(pairs.first - pairs.second), pairs.first * pairs.second], 1)
    return torch.from_numpy(both).float()


def _fit_weights(x: Tensor, labels: np.ndarray, score: Callable[[Tensor], float]) -> Tensor:
    """Train on features ``x`` (N, 2 D) and ``labels`` (N, 5), as long as ``score`` of the weights rises.

    Returns:
        The weights (5, 2 D + 1) of the best round; the last column has the biases.
    """
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
        for _ in range(MAX_ROUNDS):
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


def _expect_scores(weights: Tensor, x: Tensor) -> np.ndarray:
    expected: Tensor = _logits(weights, x).softmax(1) @ torch.arange(1.0, SCORES + 1)
    return expected.double().numpy()


def _correlate_scores(how: Callable[..., Any], found: np.ndarray, scores: np.ndarray) -> float:
    """Correlation by the function ``how``; 0 if ``found`` or ``scores`` are constant."""
    return 0.0 if _are_alike(found) or _are_alike(scores) else float(how(found, scores).statistic)


def _are_alike(numbers: np.ndarray) -> bool:
    """Tell if all numbers are equal up to rounding: a matrix product may round equal rows differently."""
    return bool(np.ptp(numbers) <= ROUNDING * np.abs(numbers).max())
