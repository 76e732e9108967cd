"""Formulas as browsers draw them."""

from guide.formulas import typeset


def test_a_formula_becomes_mathml_in_its_line_and_by_itself() -> None:
    line = typeset('<p>of <span class="arithmatex">\\(a_i\\)</span></p>')
    assert line.startswith('<p>of <span class="formula"><math')
    assert 'display="inline"' in line
    assert "<msub><mi>a</mi><mi>i</mi></msub>" in line
    alone = typeset('<div class="arithmatex">\\[\\frac{a}{b}\\]</div>')
    assert 'display="block"' in alone
    assert "<mfrac>" in alone


def test_what_html_escapes_is_read_as_it_was_written() -> None:
    assert "&#x0003C;" in typeset('<span class="arithmatex">\\(a &lt; b\\)</span>')


def test_what_is_no_formula_stays() -> None:
    page = "<p><code>\\(a\\)</code> costs $5</p>"
    assert typeset(page) == page
