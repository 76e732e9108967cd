"""Specs are read as people write them."""

from pathlib import Path

import pytest

from normcore.spec import read_spec


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("1E3", 1000.0), ("-2.5e+2", -250.0), (".5e1", 5.0), ("1.0e-5", 1e-5), ("7", 7)],
)
def test_a_number_with_an_exponent_is_a_number(tmp_path: Path, text: str, value: float) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(f"lr: {text}")
    assert read_spec(path) == {"lr": value}
    assert type(read_spec(path)["lr"]) is type(value)


@pytest.mark.parametrize("text", ["e3", "1e", "1e3x", "0x1e3z"])
def test_text_that_only_looks_like_a_number_stays_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(f"label: {text}")
    assert read_spec(path) == {"label": text}


def test_json_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text('{"task": {"name": "char_lm"}, "training": {"optimizer": {"lr": 1e-3}}}')
    assert read_spec(path) == {"task": {"name": "char_lm"}, "training": {"optimizer": {"lr": 0.001}}}


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00", b"a: !!python/object:os.system x"])
def test_what_is_no_yaml_is_an_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.yaml is neither YAML nor JSON"):
        read_spec(path)
