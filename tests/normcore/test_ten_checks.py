"""The tenth of the ten cheap checks, for the models of RBN; the tests of each model make the other nine."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from normcore.models.classifier import SequenceClassifier
from normcore.models.language_model import LanguageModel
from normcore.recurrent import Recurrent
from tests.normcore.networks import recurrent
from tests.normcore.training_specs import recurrent_model, training_spec


def pixel_classifier(method: str) -> nn.Module:
    """Build the classifier of RBN section 5.1."""
    spec = training_spec({"task": {"name": "permuted_mnist", "profile": "paper"}, "norm": {"method": method}})
    return SequenceClassifier(Recurrent(recurrent_model(spec.model), 1, spec.norm), 10)


def ptb(method: str) -> nn.Module:
    """Build the language model of RBN section 5.2."""
    spec = training_spec({"task": {"name": "char_lm", "profile": "paper"}, "norm": {"method": method}})
    return LanguageModel(Recurrent(recurrent_model(spec.model), 50, spec.norm), 50)


def text8(method: str) -> nn.Module:
    """Build the language model of RBN section 5.3: 27 symbols, 2000 units."""
    return LanguageModel(recurrent("lstm", 27, 2000, norm={"method": method}), 27)


@pytest.mark.parametrize(
    ("model", "method", "count"),
    [
        (pixel_classifier, "none", 42_110),
        (pixel_classifier, "recurrent_batch_norm", 43_010),
        (pixel_classifier, "layer_norm", 43_010 + 800),
        (ptb, "none", 4_257_050),
        (ptb, "recurrent_batch_norm", 4_257_050 + 9_000),
        (text8, "none", 16_284_027),
        (text8, "recurrent_batch_norm", 16_284_027 + 18_000),
    ],
)
def test_number_of_parameters_equals_the_papers(model: Callable[[str], nn.Module], method: str, count: int) -> None:
    with torch.device("meta"):
        assert sum(p.numel() for p in model(method).parameters()) == count
