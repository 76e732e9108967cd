"""Spec files are read in all forms in which people write them."""

from pathlib import Path
from typing import Any

import pytest

from normcore.spec import read_spec
from normcore.spec.files import NUMBER, dump_yaml, load_json, load_yaml, not_json


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("1E3", 1000.0), ("-2.5e+2", -250.0), (".5e1", 5.0), ("1.0e-5", 1e-5), ("7", 7)],
)
def test_number_with_an_exponent_is_read_from_a_file(tmp_path: Path, text: str, value: float) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(f"lr: {text}")
    assert read_spec(path) == {"lr": value}
    assert type(read_spec(path)["lr"]) is type(value)


@pytest.mark.parametrize("text", ["e3", "1e", "1e3x", "0x1e3z"])
def test_text_that_only_looks_like_a_number_stays_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(f"label: {text}")
    assert read_spec(path) == {"label": text}


def test_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text('{"task": {"name": "char_lm"}, "training": {"optimizer": {"lr": 1e-3}}}')
    assert read_spec(path) == {"task": {"name": "char_lm"}, "training": {"optimizer": {"lr": 0.001}}}


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00", b"a: !!python/object:os.system x"])
def test_invalid_yaml_is_refused_with_the_name_of_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.yaml is neither YAML nor JSON"):
        read_spec(path)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("seeds: [0]\ntask: {}\nseeds: [1]", "seeds"),
        ("task: {name: a, name: b}", "name"),
        ('{"task": {"name": "a", "name": "b"}}', "name"),
    ],
)
def test_duplicate_key_is_refused_by_name(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"spec.yaml: the key '{key}' stands twice"):
        read_spec(path)


def test_an_anchor_may_be_used_again_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("a: &a {lr: 1, decay: 2}\nb: {<<: *a, lr: 3}")
    assert read_spec(path) == {"a": {"lr": 1, "decay": 2}, "b": {"lr": 3, "decay": 2}}


def test_date_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("labels: {day: 2026-11-22, time: 2026-11-22T10:00:00Z}")
    assert read_spec(path) == {"labels": {"day": "2026-11-22", "time": "2026-11-22T10:00:00Z"}}


def test_aliases_that_expand_exponentially_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    path = tmp_path / "spec.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match="aliases"):
        read_spec(path)


@pytest.mark.parametrize(
    "spec",
    [
        {"task": {"name": "a", "profile": "small"}, "seeds": [0, 1], "training": {"lr": 1e-05, "target": None}},
        {
            "labels": {
                "a": "1e5",
                "b": "1",
                "c": "yes",
                "d": "null",
                "e": "2026-11-22",
                "f": "1_0e3",
                "g": "",
                "h": "# x",
            }
        },
        {"labels": {"a": "two\nlines", "h": "# x", "b": "a: b", "c": "é <script>", "d": "'\""}},
        {"norm": {"gains": [1.0, 1e300, -0.5]}, "empty": {}, "none": []},
    ],
)
def test_yaml_that_is_written_is_read_back_equal(spec: Any) -> None:
    assert load_yaml(dump_yaml(spec)) == spec


def test_yaml_is_written_in_the_usual_style() -> None:
    shared = [0, 1]
    spec = {"task": {"name": "a"}, "seeds": shared, "more": {"seeds": shared}}
    assert dump_yaml(spec) == "task:\n  name: a\nseeds: [0, 1]\nmore:\n  seeds: [0, 1]\n"


def test_numbers_that_are_not_finite_are_found_by_their_paths() -> None:
    in_json = load_json('{"a": [1, NaN, {"b": -Infinity}], "c": {"d": 1e999, "e": 1e-3}, "f": null}')
    in_yaml = load_yaml("a: [1, .nan, {b: -.inf}]\nc: {d: 1e999, e: 1e-3}\nf:\n")
    for written in (in_json, in_yaml):
        found = list(not_json(written))
        assert [path for path, _ in found] == [("a", 1), ("a", 2, "b"), ("c", "d")]
        assert [str(value) for _, value in found] == ["nan", "-inf", "inf"]


def test_cyclic_and_deeply_nested_values_are_searched_once() -> None:
    endless: dict[str, Any] = {"a": 1}
    endless["b"] = [endless, float("inf")]
    assert list(not_json(endless)) == [(("b", 1), float("inf"))]
    deep: Any = b"x"
    for _ in range(50_000):
        deep = [deep, 0]
    [(path, value)] = not_json(deep)
    assert (path, value) == ((0,) * 50_000, b"x")
    assert list(not_json({1: {None: float("inf")}})) == [((1, "None"), float("inf"))]


def test_first_duplicate_key_is_found_among_very_many_keys() -> None:
    pairs = ", ".join([*(f'"k{k}": 0' for k in range(80_000)), '"k7": 0', '"k3": 0'])
    with pytest.raises(ValueError, match="the key 'k7' stands twice"):
        load_json(f"{{{pairs}}}")


@pytest.mark.parametrize(
    ("digits", "number"), [("9" * 308, int("9" * 308)), ("9" * 309, float("inf")), ("-" + "9" * 308, float("-inf"))]
)
def test_a_number_with_more_digits_than_any_float_is_infinite(digits: str, number: float) -> None:
    assert load_json(f"[{digits}]") == load_yaml(f"[{digits}]") == [number]


@pytest.mark.parametrize("text", ["1" * 400_000 + "x", "1" + "_" * 400_000 + "x", "1." + "1" * 400_000 + "x"])
def test_long_text_of_digits_is_read_as_text_in_linear_time(text: str) -> None:
    assert NUMBER.match(text) is None


@pytest.mark.parametrize("number", ["1e5", "1.5e5", "1.e5", ".5e5", "1_0.0_1e-5", "+1E+5"])
def test_number_with_an_unusual_exponent_is_read_as_python_reads_it(number: str) -> None:
    assert load_yaml(number) == float(number)
