"""Numbers of ``python -m benchmarks.library`` survive their file, and are those of its table and its picture."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.kernels.contestants import Shape
from benchmarks.library.__main__ import main
from benchmarks.library.loops import loop
from benchmarks.library.measuring import Panel, Row, read, write
from benchmarks.library.picture import name_of, svg
from benchmarks.library.table import table

LARGE = Row(
    Shape(784, 100, 1, 100),
    0.3435,
    {"none": 0.5, "layer_norm": 0.8, "loop": 2.0, "products": 0.4},
    0.4,
    {"none": [0.2]},
)
SMALL = Row(Shape(1, 64, 2, 1000), 0.0168, {"none": 0.72, "layer_norm": 1.25, "products": 0.9}, 0.41)
PANELS = [Panel(1, [LARGE, SMALL], 37.0), Panel(2, [LARGE], 37.0)]
SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: bytes) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_numbers_are_read_as_they_were_written(tmp_path: Path) -> None:
    write(PANELS, tmp_path / "numbers.json")
    assert read(tmp_path / "numbers.json") == PANELS
    written = json.loads((tmp_path / "numbers.json").read_text())
    assert {"date", "commit", "cores", "python"} <= written["machine"].keys()
    assert {"torch", "kernels"} <= written["versions"].keys()


def test_table_has_the_mean_and_the_worst_of_contestants_with_all_shapes() -> None:
    head, _, *lines = (line.strip("| ").split(" | ") for line in table(PANELS[0]).splitlines())
    assert head == ["shape (T,B,F,H)", "nn.LSTM", "none", "layer_norm", "loop", "products", "kept / nn.LSTM"]
    assert lines == [
        ["784,100,1,100", "343.5 ms", "0.50", "0.80", "2.00", "0.40", "0.40"],
        ["1,64,2,1000", "16.8 ms", "0.72", "1.25", "–", "0.90", "0.41"],
        ["geometric mean", "", "0.60", "1.00", "–", "0.60"],
        ["worst", "", "0.72", "1.25", "–", "0.90"],
    ]


def test_picture_names_shapes_and_contestants_in_words() -> None:
    assert name_of(LARGE.shape) == "784 steps, batch 100, 1 input, 100 units"
    assert name_of(SMALL.shape) == "1 step, batch 64, 2 inputs, 1,000 units"
    found = texts(svg(PANELS[:1]))
    assert found[:3] == ["Time of a training step of an LSTM, 1 thread", "nn.LSTM = 1", name_of(LARGE.shape)]
    assert found[3:] == [
        *("ours, no norm", "0.50", "ours, layer norm", "0.80", "Python loop", "2.00"),
        *(name_of(SMALL.shape), "ours, no norm", "0.72", "ours, layer norm", "1.25"),
    ]
    assert "Time of a training step of an LSTM, 2 threads" in texts(svg(PANELS))


def test_bars_are_as_long_as_their_ratios_up_to_the_longest() -> None:
    slow = Row(LARGE.shape, 1.0, {"none": 1.0, "loop": 17.0}, 1.0)
    _, one, cut = ElementTree.fromstring(svg([Panel(1, [slow], 0.0)])).iter(f"{SVG}rect")
    assert float(cut.attrib["width"]) == pytest.approx(4 * float(one.attrib["width"]), abs=0.3)
    [line] = ElementTree.fromstring(svg([Panel(1, [slow], 0.0)])).iter(f"{SVG}path")
    at = float(re.findall(r"[\d.]+", line.attrib["d"])[0])
    assert at == pytest.approx(float(one.attrib["x"]) + float(one.attrib["width"]), abs=0.1)


def test_picture_of_a_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    write(PANELS, tmp_path / "numbers.json")
    for name in ("a.svg", "b.svg"):
        assert main(["--draw", str(tmp_path / "numbers.json"), str(tmp_path / name)]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes() == svg(PANELS)


def test_products_are_those_of_a_training_step() -> None:
    """The first state needs no gradient, so the loop has a product less."""
    shape = Shape(3, 4, 5, 6)
    with FlopCounterMode(display=False) as counted:
        loop(shape.inputs, shape.hidden)(torch.randn(shape[:3])).sum().backward()
    one_step = shape._replace(steps=1)
    of_first_state = one_step.products("lstm", training=True) - 2 * one_step.products("lstm", training=False)
    assert counted.get_total_flops() == shape.products("lstm", training=True) - of_first_state
