"""A wrong file of a paper is refused with the name of the file, the entry and the field."""

from pathlib import Path

import pytest

from normcore.papers.reading import InvalidPaper, read

PAPER = """
paper: {short_name: X, title: On X, authors: [A. Author], year: 2016, arxiv: "1601.00001", version: 2}
"""
GROUP = """
results:
  - where: Table 1
    task: char_lm
    split: test
    provenance: text
    rows:
"""
ROW = "      - {model: LSTM, method: none, values: {bits_per_char: 1.5}}\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "x.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_row_inherits_the_fields_of_its_group(tmp_path: Path) -> None:
    (result,) = read(written(tmp_path, PAPER + GROUP + ROW)).results
    assert (result.model, result.values, result.citation) == ("LSTM", {"bits_per_char": 1.5}, "X, Table 1")
    assert (result.task, result.split, result.profile, result.options, result.updates) == (
        "char_lm",
        "test",
        "paper",
        {},
        None,
    )


def test_row_belongs_to_the_problems_of_the_paper_and_of_the_code_of_its_authors(tmp_path: Path) -> None:
    group = GROUP.replace("split: test", "split: test\n    options: {corpus: text8}")
    of_code = (
        "      - {model: LSTM, method: none, measured_with: {sequence_length: 180}, values: {bits_per_char: 1.5}}\n"
    )
    one, two = read(written(tmp_path, PAPER + group + ROW + of_code)).results
    assert one.problems == ({"corpus": "text8"},)
    assert two.problems == ({"corpus": "text8"}, {"corpus": "text8", "sequence_length": 180})


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{model: LSTM, method: none}", "values"),
        ("{model: LSTM, method: none, values: {}}", "values: Dictionary should have at least 1 item"),
        ("{model: LSTM, method: none, values: {bits_per_char: .nan}}", "values.bits_per_char: Input should be"),
        ("{model: LSTM, method: none, values: {bits_per_char: '1.5'}}", "values.bits_per_char"),
        ("{model: LSTM, method: none, values: {bits_per_char: 1.5}, vlues: 1}", "vlues: Unexpected keyword argument"),
        ("{model: LSTM, method: layernorm, values: {bits_per_char: 1.5}}", "method: unknown 'layernorm'; did you mean"),
        ("{model: LSTM, values: {bits_per_char: 1.5}}", "method"),
        ("{model: LSTM, method: none, values: {bits_per_char: 1.5}, updates: 0}", "updates"),
        ("{model: LSTM, method: none, values: {bits_per_char: 1.5}, split: test}", "split: the row's group has this"),
        ("{model: LSTM, method: none, values: {bits_per_char: 1.5}, citation: Y}", "citation: made from"),
    ],
)  # fmt: skip
def test_wrong_row_is_refused_with_file_entry_and_field(row: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidPaper) as refused:
        read(written(tmp_path, f"{PAPER}{GROUP}{ROW}      - {row}\n"))
    assert str(refused.value).startswith(f"x.yaml: results[0].rows[1].{said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("paper: [", "x.yaml: "),
        ("paper: {}\npaper: {}", "x.yaml: the key 'paper' stands twice"),
        ("- 1", "x.yaml: expected an object"),
        ("results: []", "x.yaml: paper: expected an object"),
        (PAPER.replace("year: 2016, ", ""), "x.yaml: paper.year"),
        (PAPER.replace("1601.00001", "arXiv:1601.00001"), "x.yaml: paper.arxiv"),
        (PAPER + "result: []", "x.yaml: result: unknown field; did you mean 'results'?"),
        (PAPER + "results: {}", "x.yaml: results: expected a list"),
        (PAPER + "results: [1]", "x.yaml: results[0]: expected an object"),
        (PAPER + "results: [{where: Table 1}]", "x.yaml: results[0].rows: expected a list"),
        (PAPER + "results: [{rows: [{1: 2}]}]", "x.yaml: results[0].rows[0]: expected an object"),
        (PAPER + "curves: [{rows: [{where: Fig. 1, points: [[1, 2, 3]]}]}]", "x.yaml: curves[0].rows[0].task"),
    ],
)
def test_wrong_file_is_refused_with_its_name_and_the_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidPaper) as refused:
        read(written(tmp_path, text))
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("note", ["", "note: By quadrature."])
def test_computed_number_needs_a_note_that_says_how(tmp_path: Path, note: str) -> None:
    curve = "{task: t, model: m, x: x, y: y, unit: '', where: Fig. 1, provenance: computed, points: [[1, 2]], %s}"
    file = written(tmp_path, PAPER + f"curves: [{{rows: [{curve % note}]}}]")
    if note:
        assert read(file).curves[0].provenance == "computed"
        return
    with pytest.raises(InvalidPaper, match="add a note that says how the numbers were computed"):
        read(file)
