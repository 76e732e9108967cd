"""Published numbers equal a second reading of the papers, and new entries must satisfy the same rules."""

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from normcore.papers import Result, curves, find_published_results, papers

ROOT = Path(__file__).parents[3]
ALL = [result for paper in papers() for result in paper.results]
TASKS = {
    "sequential_mnist",
    "permuted_mnist",
    "char_lm",
    "attentive_reader",
    "order_embedding",
    "skip_thoughts",
    "draw",
    "handwriting",
    "feedforward",
    "convnet",
}
RECALLS = [f"{of}_r{k}" for of in ("caption", "image") for k in (1, 5, 10)]
RETRIEVAL = [*RECALLS[:3], "caption_mean_rank", *RECALLS[3:], "image_mean_rank"]
CLASSIFIERS = ["mr", "cr", "subj", "mpqa"]
SENTENCES = ["sick_pearson", "sick_spearman", "sick_mse", *CLASSIFIERS]
FRACTIONS = {"accuracy", "error_rate", "image_recall", *RECALLS, *CLASSIFIERS}
TIME = "time_to_best_over_baseline"
METRICS = {*FRACTIONS, *RETRIEVAL, *SENTENCES, TIME, "bits_per_char", "nats", "steps_to_90_percent"}


def as_printed(
    citation: str, task: str, metric: str, split: str = "test", **options: object
) -> dict[str, float | None]:
    """One column of a table: number by model, as printed. Fractions become percentages. A quoted model has its first
    author in brackets."""
    rows = [r for r in find_published_results(task) if (r.citation, r.split, r.options) == (citation, split, options)]
    column: dict[str, float | None] = {}
    for row in rows:
        author = f" ({row.origin.split()[0]})" if row.origin else ""
        value = row.values.get(metric)
        column[row.model + author] = round(100 * value, 2) if value is not None and metric in FRACTIONS else value
    assert len(column) == len(rows)
    return column


def test_rbn_table_1() -> None:
    others = {"TANH-RNN (Le)": 35.0, "iRNN (Le)": 97.0, "uRNN (Arjovsky)": 95.1, "sTANH-RNN (Zhang)": 98.1}
    assert as_printed("RBN, Table 1", "sequential_mnist", "accuracy") == {**others, "LSTM": 98.9, "BN-LSTM": 99.0}
    others = {"TANH-RNN (Le)": 35.0, "iRNN (Le)": 82.0, "uRNN (Arjovsky)": 91.4, "sTANH-RNN (Zhang)": 94.0}
    assert as_printed("RBN, Table 1", "permuted_mnist", "accuracy") == {**others, "LSTM": 90.2, "BN-LSTM": 95.4}


def test_rbn_table_2() -> None:
    assert as_printed("RBN, Table 2", "char_lm", "bits_per_char") == {
        "LSTM (Graves)": 1.26,
        "HF-MRNN (Mikolov)": 1.41,
        "Norm-stabilized LSTM (Krueger)": 1.39,
        "ME n-gram (Mikolov)": 1.37,
        "LSTM": 1.38,
        "BN-LSTM": 1.32,
        "Zoneout (Krueger)": 1.27,
        "HM-LSTM (Chung)": 1.24,
        "HyperNetworks (Ha)": 1.22,
    }


def test_rbn_table_3() -> None:
    section_5_3: dict[str, Any] = {
        "corpus": "text8",
        "sequence_length": 180,
        "valid_chars": 10_000 * 180,
        "test_chars": None,
    }
    assert as_printed("RBN, Table 3", "char_lm", "bits_per_char", **section_5_3) == {
        "td-LSTM (Zhang)": 1.63,
        "HF-MRNN (Mikolov)": 1.54,
        "skipping RNN (Pachitariu)": 1.48,
        "LSTM": 1.43,
        "BN-LSTM": 1.36,
        "HM-LSTM (Chung)": 1.29,
    }


@pytest.mark.parametrize(("split", "errors"), [("valid", (38.4, 45.5, 37.9)), ("test", (37.0, 45.0, 36.3))])
def test_rbn_table_4(split: str, errors: tuple[float, ...]) -> None:
    models = ("Attentive Reader (Hermann)", "LSTM", "BN-e**")
    column = as_printed("RBN, Table 4", "attentive_reader", "error_rate", split, passage="full")
    assert column == dict(zip(models, errors, strict=True))


def test_rbn_section_5_4_and_the_figure_that_it_describes() -> None:
    models = ("LSTM", "BN-LSTM", "BN-everywhere", "BN-e*", "BN-e**")
    said = as_printed("RBN, section 5.4", "attentive_reader", "error_rate", "valid")
    assert said == dict(zip(models, (50.3, 49.5, 50.0, 47.1, 43.9), strict=True))
    drawn = [r for r in find_published_results("attentive_reader") if r.citation == "RBN, Fig. 4a"]
    assert [(r.model, round(100 * r.values["error_rate"], 2), r.updates) for r in drawn] == [
        ("LSTM", 50.33, 759_000),
        ("BN-LSTM", 49.51, 228_000),
        ("BN-everywhere", 50.0, 126_000),
        ("BN-e*", 46.83, 158_000),
        ("BN-e**", 43.98, 67_000),
    ]
    disagree = [r for r in find_published_results("attentive_reader") if r.note and "disagrees with itself" in r.note]
    assert [(r.where, r.model, r.values["error_rate"]) for r in disagree] == [
        ("section 5.4", "BN-e*", 0.471),
        ("Fig. 4a", "BN-e*", 0.4683),
    ]
    full = as_printed("RBN, Fig. 4b", "attentive_reader", "error_rate", "valid", passage="full")
    assert full == {"LSTM": 45.3, "BN-e**": 39.1}


@pytest.mark.parametrize(
    ("task", "drawn"),
    [
        ("sequential_mnist", {"LSTM": (98.79, 40_000), "BN-LSTM": (98.94, 3500)}),
        ("permuted_mnist", {"LSTM": (90.89, 35_500), "BN-LSTM": (94.67, 11_000)}),
    ],
)
def test_rbn_figure_2(task: str, drawn: Mapping[str, tuple[float, int]]) -> None:
    best = as_printed("RBN, Fig. 2", task, "accuracy", "valid")
    steps = as_printed("RBN, Fig. 2", task, "steps_to_90_percent", "valid")
    assert {model: (best[model], steps[model]) for model in best} == drawn


def test_rbn_figure_3a() -> None:
    drawn = [r for r in find_published_results("char_lm") if r.citation == "RBN, Fig. 3a"]
    assert [(r.model, r.updates, r.values["bits_per_char"], r.split) for r in drawn] == [
        ("LSTM", 791, 2.223, "valid"),
        ("LSTM", 10_300, 1.486, "valid"),
        ("BN-LSTM", 791, 1.674, "valid"),
        ("BN-LSTM", 7900, 1.47, "valid"),
    ]


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        ("Sym (Vendrov)", (45.4, None, 88.7, 5.8, 36.3, None, 85.8, 9.0)),
        ("OE (Vendrov)", (46.7, None, 88.9, 5.7, 37.9, None, 85.9, 8.1)),
        ("OE", (46.6, 79.3, 89.1, 5.2, 37.8, 73.6, 85.7, 7.9)),
        ("OE + LN", (48.5, 80.6, 89.8, 5.1, 38.9, 74.3, 86.3, 7.6)),
    ],
)
def test_ln_table_2(model: str, numbers: tuple[float | None, ...]) -> None:
    columns = [as_printed("LN, Table 2", "order_embedding", metric) for metric in RETRIEVAL]
    assert tuple(column[model] for column in columns) == numbers
    assert len(columns[0]) == 4


def test_ranking_metric_of_order_embedding_is_the_mean_image_recall_of_ln_table_2() -> None:
    rows = [r for r in find_published_results("order_embedding") if "image_recall" in r.values]
    assert [r.model for r in rows] == ["OE", "OE + LN"]
    for row in rows:
        assert row.values["image_recall"] == round(sum(row.values[name] for name in RECALLS[3:]) / 3, 4)
        assert row.note is not None
        assert "is the mean" in row.note


def test_ln_section_6_1() -> None:
    (said,) = [r for r in find_published_results("order_embedding") if r.where == "section 6.1"]
    assert (said.model, said.method, said.split, said.values) == ("OE + LN", "layer_norm", "valid", {TIME: 0.60})


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        ("Original (Kiros)", (0.848, 0.778, 0.287, 75.5, 79.3, 92.1, 86.9)),
        ("Ours", (0.842, 0.767, 0.298, 77.3, 81.8, 92.6, 87.9)),
        ("Ours + LN", (0.854, 0.785, 0.277, 79.5, 82.6, 93.4, 89.0)),
        ("Ours + LN †", (0.858, 0.788, 0.270, 79.4, 83.1, 93.7, 89.3)),
    ],
)
def test_ln_table_3(model: str, numbers: tuple[float, ...]) -> None:
    columns = [as_printed("LN, Table 3", "skip_thoughts", metric) for metric in SENTENCES]
    assert tuple(column[model] for column in columns) == numbers
    assert len(columns[0]) == 4


def test_ln_section_6_4() -> None:
    assert as_printed("LN, section 6.4", "draw", "nats") == {"DRAW": 82.36, "DRAW + LN": 82.09}


NORM = "log10 of the norm of the loss's gradient with respect to the hidden state"
DERIVATIVE = "mean derivative of tanh"
DEVIATION = "median relative deviation of the variance from that of the last step"
BITS, LOSS, LEAST = "test bits_per_char", "validation cross-entropy", "minimum of the validation cross-entropy"
GAINS = (0.1, 0.3, 0.5, 0.7, 1.0)
LENGTHS = (100, 300, 500, 1000)


def at(x: tuple[float, ...], *y: float) -> dict[float, float]:
    return dict(zip(x, y, strict=True))


CURVES: list[tuple[str, str, str, dict[str, object], dict[float, float]]] = [
    ("Fig. 1a", "gradient_flow", NORM, {"step": 100},
     {0.1: -3.10, 0.2: -2.97, 0.3: -2.76, 0.4: -4.14, 0.5: -9.69, 0.6: -17.9}),
    ("Fig. 1a", "gradient_flow", NORM, {"step": 700}, {1.0: -18.2}),
    ("Fig. 1a", "gradient_flow", NORM, {"step": 783}, {n / 10: -2.02 for n in range(1, 11)}),
    ("Fig. 1b", "gradient_flow", DERIVATIVE, {}, {0.1: 0.990, 0.3: 0.923, 0.5: 0.826, 1.0: 0.606}),
    ("Fig. 3b", "length_generalization", BITS, {}, at(LENGTHS, 1.449, 1.404, 1.395, 1.391)),
    ("Fig. 3b", "length_generalization", BITS, {"statistics": "population"}, at(LENGTHS, 1.398, 1.348, 1.338, 1.333)),
    ("Fig. 3b", "length_generalization", BITS, {"statistics": "batch"}, at(LENGTHS, 1.420, 1.372, 1.361, 1.362)),
    ("Fig. 5", "population_statistics", DEVIATION, {"site": "recurrent"}, {1: 0.24, 5: 0.048, 10: 0.018, 20: 0.005}),
    ("Fig. 5", "population_statistics", DEVIATION, {"site": "cell"}, {1: 0.28, 5: 0.077, 10: 0.025, 20: 0.004}),
    ("Fig. 5", "population_statistics", "variance", {"site": "recurrent"}, {0: 0.0}),
    ("Fig. 6", "permuted_mnist", LOSS, {"updates": 10_000}, at(GAINS, 0.341, 0.415, 0.550, 1.186, 2.255)),
    ("Fig. 6", "permuted_mnist", LOSS, {"updates": 50_000}, at(GAINS, 0.212, 0.232, 0.274, 0.311, 0.465)),
    ("Fig. 6", "char_lm", f"{LEAST}, at least", {}, dict.fromkeys(GAINS, 1.016)),
    ("Fig. 6", "char_lm", f"{LEAST}, at most", {}, dict.fromkeys(GAINS, 1.018)),
]  # fmt: skip


def test_the_curves_of_rbns_figures() -> None:
    drawn = [curve for paper in papers() for curve in paper.curves]
    assert [(c.where, c.task, c.y, dict(c.parameters), dict(c.points)) for c in drawn] == CURVES
    assert {curve.citation.partition(",")[0] for curve in drawn} == {"RBN"}
    assert [curve.model for curve in drawn if curve.where == "Fig. 3b"] == ["LSTM", "BN-LSTM", "BN-LSTM"]


def test_computed_curve_is_marked_as_computed_and_equals_the_integral() -> None:
    (computed,) = [c for paper in papers() for c in paper.curves if c.provenance == "computed"]
    assert computed.where == "Fig. 1b"
    assert computed.note is not None
    assert "not read off" in computed.note
    grid = [n / 1000 for n in range(-10_000, 10_001)]
    for std, mean in computed.points:
        density = sum(math.exp(-z * z / 2) for z in grid)
        integral = sum(math.exp(-z * z / 2) * (1 - math.tanh(std * z) ** 2) for z in grid) / density
        assert mean == round(integral, 3)


def test_every_published_number_is_checked_in_this_module() -> None:
    counts: dict[str, int] = {}
    for result in ALL:
        counts[result.citation] = counts.get(result.citation, 0) + len(result.values)
    assert counts == {
        "LN, Table 2": 28 + 2,
        "LN, Table 3": 28,
        "LN, section 6.1": 1,
        "LN, section 6.4": 2,
        "RBN, Table 1": 12,
        "RBN, Table 2": 9,
        "RBN, Table 3": 6,
        "RBN, Table 4": 6,
        "RBN, section 5.4": 5,
        "RBN, Fig. 2": 8,
        "RBN, Fig. 3a": 4,
        "RBN, Fig. 4a": 5,
        "RBN, Fig. 4b": 2,
    }


def test_citations_of_the_papers_are_correct() -> None:
    cited = {(p.short_name, p.title, p.authors[0], len(p.authors), p.year, p.arxiv, p.version) for p in papers()}
    assert cited == {
        ("LN", "Layer Normalization", "Jimmy Lei Ba", 3, 2016, "1607.06450", 1),
        ("RBN", "Recurrent Batch Normalization", "Tim Cooijmans", 5, 2017, "1603.09025", 5),
    }


@pytest.mark.parametrize("result", ALL, ids=lambda r: f"{r.citation}, {r.model}, {r.task}")
def test_values_are_finite_and_have_names_and_units_that_boards_know(result: Result) -> None:
    assert result.task in TASKS
    assert result.values.keys() <= METRICS
    assert all(math.isfinite(value) for value in result.values.values())
    assert all(0 < value < 1 for name, value in result.values.items() if name in FRACTIONS)


def test_number_read_off_a_figure_is_never_ranked() -> None:
    for result in ALL:
        assert result.where.startswith("Fig.") == (result.provenance == "figure")
        assert not (result.provenance == "figure" and result.can_be_ranked)


def test_board_ranks_only_published_results_of_its_own_problem() -> None:
    ranked = {(r.model, r.origin) for r in find_published_results("char_lm") if r.can_be_ranked and not r.options}
    assert ranked == {
        ("HF-MRNN", "Mikolov et al. 2012"),
        ("Norm-stabilized LSTM", "Krueger and Memisevic 2016"),
        ("ME n-gram", "Mikolov et al. 2012"),
        ("LSTM", None),
        ("BN-LSTM", None),
        ("Zoneout", "Krueger et al. 2016"),
        ("HM-LSTM", "Chung et al. 2016"),
        ("HyperNetworks", "Ha et al. 2016"),
    }, "not Graves's LSTM, which is of another split"


def test_results_of_rbn_on_permuted_mnist_use_the_index_map_of_its_code() -> None:
    of_code = {(r.model, r.origin): r.problems for r in find_published_results("permuted_mnist") if r.split == "test"}
    assert {key for key, problems in of_code.items() if {"legacy_index_map": True} in problems} == {
        ("LSTM", None),
        ("BN-LSTM", None),
    }
    assert all({} in problems for problems in of_code.values())


def test_task_that_no_paper_has_has_no_published_results() -> None:
    assert find_published_results("sequential_digits") == ()
    assert curves("sequential_digits") == ()


def test_every_papers_file_is_shipped_with_the_package() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folder = ROOT / "normcore" / "papers"
    shipped = {file for pattern in setuptools["package-data"]["normcore.papers"] for file in folder.glob(pattern)}
    assert {file.name for file in shipped} == {"layer_normalization.yaml", "recurrent_batch_normalization.yaml"}
    assert len(papers()) == len(shipped)
    assert "normcore*" in setuptools["packages"]["find"]["include"]
    assert (folder / "__init__.py").is_file()  # otherwise the folder would not be a package
