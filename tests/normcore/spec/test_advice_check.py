"""A line that a message tells to write is tried first. A line that would be refused is left out."""

import importlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from normcore.spec import InvalidSpec, SpecError, resolve
from normcore.spec.advice_check import advised_fields, nest, put_over, without_fields
from normcore.spec.cells import CELLS
from normcore.spec.errors import MAX_ERRORS
from normcore.spec.messages import Advice, after
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.resolve import part_classes

DIGITS: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "smoke"}}
resolution = importlib.import_module("normcore.spec.resolve")
GRU = {"model": {"cell": "gru"}}
SITES = 'sites takes a list of any of "input", "recurrent", "sum", "cell", "layer", "output", "attention", such as'
ANALYSIS = {"task": {"name": "hidden_dynamics"}}


def errors_of(written: Any) -> list[SpecError]:
    try:
        resolve(written)
    except InvalidSpec as refusal:
        return refusal.errors
    return []


@pytest.mark.parametrize("given", ["hidden", "all", "input, recurrent", {"input": True}])
def test_refused_site_is_answered_with_the_sites(given: Any) -> None:
    [error] = errors_of({**DIGITS, "norm": {"method": "layer_norm", "sites": given}})
    assert error.msg == f'expected a list; {SITES} ["input"]'


@pytest.mark.parametrize("given", ["g", "all", "none", "rz", {"r": 1}])
@pytest.mark.parametrize("part", ["model", "norm"])
def test_refused_gate_is_answered_with_the_gates(given: Any, part: str) -> None:
    [error] = errors_of(put_over({**DIGITS, **GRU}, {part: {"identity_gates": given}}))
    assert error.msg.endswith('expected a list; identity_gates takes a list of any of "r", "z", "n", such as ["r"]')


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            {"task": {"name": "hidden_dynamics", "weight_scales": "0.5,1"}},
            "expected a list; weight_scales takes a list of numbers greater than 0, such as [1, 2]",
        ),
        (
            {**DIGITS, "seed": "abc"},
            "unknown field; did you mean 'seeds'? seeds takes a list of whole numbers greater than or equal to 0",
        ),
        (
            {**DIGITS, "training": {"optimizer": {"lr": "-1"}}},
            "expected a number without quotes; lr takes a number greater than 0",
        ),
        (
            {**DIGITS, "training": {"clip": -1}},
            "the largest norm is clip_norm; clip_norm takes a number greater than 0 or null",
        ),
        ({**DIGITS, "training": {"optimizer": {"lr": "1e39"}}}, "expected a number without quotes; lr takes a number"),
        ({**DIGITS, "seed": ["-1"]}, "seeds takes a list of whole numbers greater than or equal to 0"),
        ({**DIGITS, "seeds": ["-1"]}, "quotes; seeds takes a list of whole numbers greater than or equal to 0"),
        ({**DIGITS, "norm": [{"method": "LayerNorm"}, {"foo": 1}]}, "expected an object; norm has no field 'foo'"),
        ({**DIGITS, "label": {"a b": "c"}}, "did you mean 'labels'? labels takes an object of names and texts"),
        ({**DIGITS, "name": "\n"}, "into labels; labels takes an object of names and texts"),
        ({**DIGITS, "training.x": 1}, "training has no field 'x'"),
        ({**DIGITS, "max_steps:-5": None}, "put a space after the colon"),
    ],
)
def test_refused_line_is_replaced_by_what_the_field_takes(written: Any, told: str) -> None:
    [error] = errors_of(written)
    assert told in error.msg
    assert advised_fields(error) is None


def test_accepted_line_stands_beside_the_mistakes_of_other_fields() -> None:
    errors = errors_of({**DIGITS, "priority": "high", "training": {"clip": 1.0, "max_steps": -5}, "seeds": ["0-4", -3]})
    told = {error.loc: error.msg for error in errors}
    assert told["training", "clip"].endswith('write "training": {"clip_norm": 1.0}')
    assert told["seeds", 0].endswith("write 0, 1, 2, 3, 4")


def record_checks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the specs that are tried, and accept all of them."""
    tried: list[Any] = []

    def accept(task: Any, spec: Any) -> list[Any]:
        tried.append(spec)
        return []

    monkeypatch.setattr(resolution, "_wrong_fields", accept)
    return tried


@pytest.mark.parametrize("count", [1, 5, MAX_ERRORS, MAX_ERRORS + 50])
def test_each_error_that_is_shown_costs_at_most_one_check(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = record_checks(monkeypatch)
    errors_of({**DIGITS, "seeds": [str(number) for number in range(count)]})
    assert len(tried) == min(count, MAX_ERRORS)


def test_check_does_not_repeat_the_fields_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = record_checks(monkeypatch)
    errors_of({**DIGITS, "lr": "0.1", "labels": {1.5: "x", "a": "b"}, **{f"x{number}": 0 for number in range(1000)}})
    assert {**DIGITS, "labels": {"a": "b"}, "training": {"optimizer": {"lr": 0.1}}} in tried


@pytest.mark.parametrize(
    ("loc", "advice", "text", "fields"),
    [
        (("a",), Advice("did you mean 'b'?", ("b",), 1, " write"), "did you mean 'b'? write \"b\": 1", {"b": 1}),
        (
            ("b",),
            Advice("have it", ("a", "b"), [1], ": write", ", or remove it"),
            'have it: write "a": {"b": [1]}, or remove it',
            {"a": {"b": [1]}},
        ),
        (("a",), Advice("an object", (), {"b": 1}, ", as"), 'an object, as {"b": 1}', {"a": {"b": 1}}),
        (("a", 0), Advice("a number", ("a", 0), 1), "a number; write 1", {"a": [1]}),
        (("a", 0), Advice("text", ("a", 0), "1", "; put it in quotes:"), 'text; put it in quotes: "1"', {"a": ["1"]}),
        (("a", 0, "b", 1), Advice("a number", ("a", 0, "b", 1), 1), "a number; write 1", None),
        (("a", 0, "c"), Advice("an object", (), {"b": 1}, ", as"), 'an object, as {"b": 1}', None),
        ((), Advice("a spec", (), {"b": 1}, ", as"), 'a spec, as {"b": 1}', None),
    ],
)
def test_advice_shows_its_line_and_knows_the_fields(
    loc: tuple[str | int, ...], advice: Advice, text: str, fields: dict[str, Any] | None
) -> None:
    assert advice == text
    assert advised_fields(SpecError(loc, advice, "x")) == fields
    longer = after("wrong; ", advice)
    assert longer == f"wrong; {text}"
    assert advised_fields(SpecError(loc, longer, "x")) == fields


def test_advice_without_its_line_ends_with_a_word() -> None:
    advice = after("unknown field; ", Advice("", ("a",), 1, "write", ", or remove it"))
    assert isinstance(advice, Advice)
    assert advice.without_line() == "unknown field, or remove it"


HOSTILE = "as 1" * 50_000


@pytest.mark.parametrize(
    "written",
    [
        {**DIGITS, "norm": [{"method": "layer_norm"}, {f"a{k}": HOSTILE for k in range(8)}]},
        {"task": [{"name": "char_lm"}, {"a": HOSTILE}]},
        {HOSTILE: {"task": {"name": "char_lm"}}},
    ],
)
def test_long_text_of_a_user_is_cut_before_it_enters_a_message(written: Any) -> None:
    began = time.process_time()
    [error] = errors_of(written)
    assert len(error.msg) < 200
    assert time.process_time() - began < 0.5, "the text is cut in linear time"


def test_long_list_for_a_part_is_refused_in_little_time() -> None:
    errors_of({**DIGITS, "norm": ["layer_nrm", "b"]})  # what is computed once is computed now
    began = time.process_time()
    errors_of({**DIGITS, "norm": [f"layer_nrm{k}" for k in range(10_000)]})
    assert time.process_time() - began < 0.3


VALUES: list[Any] = [
    *("all", "none", "a, b", "0.5,1", "1e39", "-1", "0", "1", "1.0", "NaN", "true", "", " ", "None", "é\n", "x" * 300),
    *(0, 1, -1, 3.0, 0.5, -0.5, 1e39, 10**30, True, False, None),
    *([], [0], [1, 1], ["a"], [None], [[1]], [{}], ["1"], ["-1"], [1.0]),
    *({}, {"a": 1}, {"r": 1}, {"name": "x"}, {"method": "rms_norm", "eps": -1}, {1.5: "x"}),
]


UNKNOWN = ("lr", "eps", "n_seeds", "seed", "label", "batch", "clip", "sites", "name", "optimizer", "steps", "dtype")
"""Fields that do not exist at most places where the test writes them."""


def chosen() -> Iterator[dict[str, Any]]:
    """Yield valid specs that differ in one choice."""
    choices: list[dict[str, Any]] = [
        *({"model": {"cell": name}} for name in CELLS.ours),
        *({"norm": {"method": name}} for name in METHODS.ours),
        *({"training": {"optimizer": {"name": name}}} for name in OPTIMIZERS.ours),
    ]
    specs = [{**DIGITS, **choice} for choice in choices]
    yield from (spec for spec in [*specs, ANALYSIS] if not errors_of(spec))


def mistakes() -> Iterator[Any]:
    """Yield specs in which one field has a value that it may not take, and some that are right."""
    seen: set[Any] = set()
    for spec in chosen():
        for path, part in part_classes(spec).items() - seen:
            seen.add((path, part))
            for field in {*part.model_fields, *UNKNOWN} - {"task", "cell", "method"}:
                for value in VALUES:
                    yield put_over(spec, nest((*path, field), value))


def test_no_line_to_write_is_refused() -> None:
    for written in mistakes():
        for error in errors_of(written):
            offer = advised_fields(error)
            if offer and error.type != "pointless":
                mended = put_over(without_fields(written, [error.loc]), offer)
                again = [other.loc for other in errors_of(mended)]
                assert not any(loc[: len(leaf)] == leaf for loc in again for leaf in leaves(offer)), (written, error)


def leaves(fields: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each value that a line writes."""
    for name, value in fields.items():
        inner = list(leaves(value)) if isinstance(value, Mapping) else []
        yield from ((name, *path) for path in inner or [()])
