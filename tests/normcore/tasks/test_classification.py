"""Scores equal those counted in plain Python."""

import json
import math
import random

import pytest
import torch

from normcore.tasks.classification import Scores, confusion_figure

CPU = torch.device("cpu")
LOGITS = [[2.0, 0.5, -1.0], [0.0, 3.0, 1.0], [0.1, 0.2, 0.3], [5.0, 0.0, 0.0], [1.0, 1.5, 0.0]]
LABELS = [0, 1, 0, 2, 1]


def cross_entropy(logits: list[float], label: int) -> float:
    return math.log(sum(map(math.exp, logits))) - logits[label]


def scores_of(logits: list[list[float]], labels: list[int], classes: int, size: int) -> Scores:
    scores = Scores(classes, CPU)
    for start in range(0, len(labels), size):
        scores.add(
            torch.tensor(logits[start : start + size], dtype=torch.float64), torch.tensor(labels[start : start + size])
        )
    return scores


@pytest.mark.parametrize("size", [1, 2, 5])
def test_batches_add_up_to_loss_accuracy_and_counts(size: int) -> None:
    scores = scores_of(LOGITS, LABELS, 3, size)
    assert scores.loss == pytest.approx(sum(map(cross_entropy, LOGITS, LABELS)) / 5, rel=1e-12)
    assert scores.accuracy == 3 / 5
    assert scores.confusion.tolist() == [[1, 0, 1], [0, 2, 0], [1, 0, 0]], "rows are what they are"


def test_scores_of_any_examples_equal_plain_python() -> None:
    draw = random.Random(0)
    labels = [draw.randrange(7) for _ in range(500)]
    logits = [[draw.gauss(0, 1) for _ in range(7)] for _ in labels]
    scores = scores_of(logits, labels, 7, 64)
    chosen = [row.index(max(row)) for row in logits]
    counts = [[0] * 7 for _ in range(7)]
    for label, choice in zip(labels, chosen, strict=True):
        counts[label][choice] += 1
    assert scores.confusion.tolist() == counts
    assert scores.accuracy == sum(a == b for a, b in zip(labels, chosen, strict=True)) / 500
    assert scores.loss == pytest.approx(sum(map(cross_entropy, logits, labels)) / 500, rel=1e-12)


def test_sums_of_many_small_numbers_are_kept_in_float64() -> None:
    scores = Scores(2, CPU)
    for _ in range(3):
        scores.add(torch.tensor([[20.0, 0.0]] * 1000), torch.zeros(1000, dtype=torch.int64))
        scores.add(torch.tensor([[0.0, 1e4]]), torch.tensor([0]))
    small = cross_entropy([20.0, 0.0], 0)
    assert scores.loss == pytest.approx((3 * 1e4 + 3000 * small) / 3003, rel=1e-9)


def test_the_figure_is_drawn_when_it_is_asked_for() -> None:
    drawn: list[int] = []

    def score() -> Scores:
        drawn.append(1)
        return scores_of(LOGITS, LABELS, 3, 5)

    [(name, draw)] = confusion_figure(score, "Some task").items()
    assert (name, drawn) == ("figures/confusion_matrix.json", [])
    figure = json.loads(draw())
    assert drawn == [1]
    assert figure["layout"]["title"]["text"] == "Some task: test data"
    [heatmap] = figure["data"]
    assert heatmap["text"] == [["1", "0", "1"], ["0", "2", "0"], ["1", "0", "0"]]
    assert heatmap["z"] == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
