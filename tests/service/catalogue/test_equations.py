"""Equations of methods as MathML."""

import sys

import pytest
from markupsafe import Markup

from normcore.spec.methods import METHODS
from service.catalogue.equations import OF_NORMS, equation_of, typeset


@pytest.mark.parametrize("name", sorted(METHODS.ours))
def test_the_equation_of_each_method_is_typeset_without_styles(name: str) -> None:
    found = equation_of(METHODS[name])
    assert found.formulas
    for formula in found.formulas:
        assert isinstance(formula, Markup)
        assert formula.startswith("<math")
        assert "style=" not in formula


def test_the_meaning_of_the_letters_follows_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[METHODS["rms_norm"].__module__]
    monkeypatch.setattr(module, "__doc__", "Mine.\n\n$$a$$\n\n$$b$$\n\nH is a number.\n")
    found = equation_of(METHODS["rms_norm"])
    assert (len(found.formulas), found.letters) == (2, "H is a number.")
    monkeypatch.setattr(module, "__doc__", None)
    assert equation_of(METHODS["rms_norm"]).formulas == []


def test_common_letters_are_explained_where_a_formula_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[METHODS["rms_norm"].__module__]
    assert equation_of(METHODS["rms_norm"], OF_NORMS).letters == "a: the summed inputs of a layer; γ: the gain."
    assert "β: the shift" in equation_of(METHODS["layer_norm"], OF_NORMS).letters
    monkeypatch.setattr(module, "__doc__", r"$$\alpha \beta$$ H is a number.")
    assert equation_of(METHODS["rms_norm"], OF_NORMS).letters == "β: the shift. H is a number."


@pytest.mark.parametrize(
    "latex",
    [
        r"\frac{",
        "a^b^c",
        r"\text{<script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\text{<!-- }",
        r"\href{javascript:alert(1)}{x}",
    ],
)
def test_what_is_no_latex_or_no_mathml_stays_text(latex: str) -> None:
    assert typeset(latex) == latex
    assert not isinstance(typeset(latex), Markup)
