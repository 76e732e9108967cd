"""A file that cannot be read is refused with the line of the error and the repair."""

from pathlib import Path

import pytest

from normcore.spec import read_spec

SPEC = "task: {name: permuted_digits}\nseeds: [0]\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("task:\n\tname: char_lm\n", "line 2: a tab stands before the text"),
        (f"{SPEC}---\n{SPEC}", "line 3: a second document begins with ---; write each spec into a file of its own"),
        ("task:\n  name: char_lm\n   profile: smoke\n", "line 3: the line is indented differently from line 2"),
        ("task: char_lm\n\n  profile: smoke\n", "line 3: the line is indented differently from line 1"),
        ("task: {name: char_lm}\n  seeds: [0]\n", "line 2: the line is indented differently from line 1"),
        (" task: {name: char_lm}\nseeds: [0]\n", "line 2: the line is indented differently from line 1"),
        ("task: name: char_lm\n", "line 1: a second colon stands here; write each field on a line of its own"),
        ("device: cpu priority: 3\n", "line 1: a second colon stands here; write each field on a line of its own"),
        ("task:\n  name char_lm\n  profile: smoke\n", "line 2: put a colon and a space between a key and its value"),
        ("task\nseeds: [0]\n", "line 1: put a colon and a space between a key and its value"),
        ("task: {}\nseeds [0]\n", "line 2: put a colon and a space between a key and its value"),
        ("labels:\n  a: 'x\n  b: 'y'\nseeds: [0]\n", "line 2: the quote that opens here is not closed"),
        ('labels: {a: "x, b: "y"}\n', "line 1: the quote that opens here is not closed"),
        ("labels:\n  a: it's\n  b: 'y'z\n", "line 3: something stands behind a complete value"),
        ('labels:\n  a: "\\d"\n', "line 2: put the text into single quotes, or write each backslash twice"),
        ("labels:\n  a: - x\n", "line 2: begin each item of a list, with its -, on a line of its own"),
        ("labels:\n  a: !x y\n", "line 2: put a value that begins with ! into quotes"),
        ("labels:\n  a: > x\n", "line 2: put a value that begins with > or | into quotes"),
        ("norm:layer_norm\n\ntask: {name: char_lm}\n", "line 1: put a space after the colon; write norm: layer_norm"),
        ("seeds: [0]\ntask: {name: char_lm\n", "line 2: the bracket that opens here is not closed"),
        ('{"seeds": [0], // the first\n "task": {}}', "line 1: neither YAML nor JSON has comments with //"),
        ("task: {name: a b: c}\nseeds: [0", "line 1: expected a comma or a closing bracket"),
        (
            "norm:\n  method: layer_norm\n eps: 1\n",
            "line 3: the line is indented differently from line 2; indent all fields of a part alike",
        ),
        ("task:\n  name: char_lm\n - b\n", "line 3: the line is indented differently from line 2"),
        ("task: {name: char_lm}\n- b\n", "line 2: an item of a list stands among fields; indent the list below"),
        ("task: {name: char_lm}}\n", "line 1: a bracket is closed here that was not opened; remove it"),
        ("seeds: [0]]\n", "line 1: a bracket is closed here that was not opened; remove it"),
        (
            "task: {name: char_lm} seeds: [0]\n",
            "line 1: something stands behind a complete value; write each field on a",
        ),
        ("labels: {}\ntask:\n  name: 'char_lm\nseeds: [0]\n", "line 3: the quote that opens here is not closed"),
        ('task:\n  name: "char_lm\n\nseeds: [0]\n', "line 2: the quote that opens here is not closed"),
        ("note: *\nseeds: [0]", "line 1: "),
        (b"task: {name: char_lm}\nlabels: {who: Jos\xe9}\n", "line 2: the text is not encoded in UTF-8"),
        (SPEC.encode("utf-16-le"), "line 1: a character that cannot be seen stands here; save the text as UTF-8"),
        (SPEC.encode() + b"\0", "line 3: a character that cannot be seen"),
    ],
)
def test_invalid_yaml_is_refused_with_line_and_repair(tmp_path: Path, content: str | bytes, told: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match="is neither YAML nor JSON") as caught:
        read_spec(path)
    assert f"{path} is neither YAML nor JSON: {told}" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_file_in_any_encoding_and_line_end_of_windows_is_read(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(f"{SPEC}labels: {{who: José}}\n".replace("\n", end).encode(encoding))
    assert read_spec(path) == {"task": {"name": "permuted_digits"}, "seeds": [0], "labels": {"who": "José"}}
