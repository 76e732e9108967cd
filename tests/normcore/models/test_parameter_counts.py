"""Models have the papers' numbers of parameters, to the unit."""

import pytest
import torch

from normcore.models.assembly import recurrent_of
from normcore.models.classifier import SequenceClassifier
from normcore.models.language_model import LanguageModel
from normcore.recurrent import Recurrent
from normcore.spec import resolve


@pytest.mark.parametrize(("method", "count"), [("none", 42_110), ("recurrent_batch_norm", 43_010)])
def test_the_pixel_classifier_of_the_paper(method: str, count: int) -> None:
    """RBN section 5.1."""
    spec = resolve({"task": {"name": "permuted_mnist", "profile": "paper"}, "norm": {"method": method}})
    model = SequenceClassifier(recurrent_of(spec.model, spec.norm, "reference")(1), 10)
    assert sum(p.numel() for p in model.parameters()) == count


@pytest.mark.parametrize(("method", "count"), [("none", 4_257_050), ("recurrent_batch_norm", 4_266_050)])
def test_the_language_model_of_the_paper(method: str, count: int) -> None:
    """RBN section 5.2."""
    spec = resolve({"task": {"name": "char_lm", "profile": "paper"}, "norm": {"method": method}})
    with torch.device("meta"):
        model = LanguageModel(recurrent_of(spec.model, spec.norm, "reference")(50), 50)
    assert sum(p.numel() for p in model.parameters()) == count


@pytest.mark.parametrize(("method", "count"), [("none", 16_284_027), ("recurrent_batch_norm", 16_302_027)])
def test_the_language_model_of_text8(method: str, count: int) -> None:
    """RBN section 5.3: 27 symbols, 2000 units."""
    with torch.device("meta"):
        model = LanguageModel(Recurrent("lstm", 27, 2000, norm={"method": method}), 27)
    assert sum(p.numel() for p in model.parameters()) == count
