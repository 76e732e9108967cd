"""Formulas are converted to MathML."""

from guide.formulas import typeset


def test_inline_and_display_formulas_become_mathml() -> None:
    line = typeset('<p>of <span class="arithmatex">\\(a_i\\)</span></p>')
    assert line.startswith('<p>of <span class="formula"><math')
    assert 'display="inline"' in line
    assert "<msub><mi>a</mi><mi>i</mi></msub>" in line
    alone = typeset('<div class="arithmatex">\\[\\frac{a}{b}\\]</div>')
    assert 'display="block"' in alone
    assert "<mfrac>" in alone


def test_escaped_html_in_a_formula_is_unescaped() -> None:
    assert "&#x0003C;" in typeset('<span class="arithmatex">\\(a &lt; b\\)</span>')


def test_text_that_is_not_a_formula_is_unchanged() -> None:
    page = "<p><code>\\(a\\)</code> costs $5</p>"
    assert typeset(page) == page
