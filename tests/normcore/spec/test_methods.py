"""Methods of other packages are found, and those that cannot be used do no harm."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from normcore.spec.methods import METHODS, UnusableMethod, installed
from normcore.spec.norm import Method

ROOT = Path(__file__).parents[3]
SPEC = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "mean_absolute_norm"}}


class Good(Method):
    title: ClassVar[str] = "Good"
    citation: ClassVar[str] = "nobody"
    home: ClassVar[str] = "somewhere.else"
    method: Literal["good"] = "good"


class Homeless(Good):
    home: ClassVar[str] = ""


class Taken(Good):
    method: Literal["layer_norm"] = "layer_norm"  # type: ignore[assignment]


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}", "normbench.methods")


def test_a_method_of_another_package_is_found_by_its_tag() -> None:
    assert installed([entry("good", "Good")], METHODS) == {"good": Good}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("good", "Missing", "has no attribute 'Missing'"),
        ("good", "ROOT", "expected a subclass of normcore.spec.norm.Method"),
        ("better", "Good", r'expected its field method: Literal\["better"\]'),
        ("good", "Homeless", "expected home"),
        ("layer_norm", "Taken", "a method of that name already"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_says_why(name: str, value: str, message: str) -> None:
    with pytest.warns(UnusableMethod, match=message):
        assert installed([entry(name, value), entry("good", "Good")], METHODS).keys() <= {"good"}


@pytest.fixture(scope="module")
def with_example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH on which the example package is installed."""
    target = tmp_path_factory.mktemp("installed")
    example = ROOT / "examples" / "mean_absolute_norm"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(target), str(example)], check=True, timeout=120)
    return f"{target}:{ROOT}"


def run(pythonpath: str, folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        env={"PYTHONPATH": pythonpath, "PATH": "", "HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_documented_example_trains(with_example: str, tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    events = [json.loads(line) for line in run(with_example, tmp_path, "-m", "normcore", "spec.json").splitlines()]
    assert events[-1]["outcome"] in ("completed", "reached_target")
    assert events[0]["environment"]["method"] == "mean-absolute-norm 0.1.0"


def test_the_documented_example_has_a_row_of_table_1(with_example: str, tmp_path: Path) -> None:
    """Centring and dividing by a mean absolute value: what layer norm does not see, it does not see either."""
    spec = {"task": {"name": "invariances"}, "norm": {"method": "mean_absolute_norm"}}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    analysed = json.loads(run(with_example, tmp_path, "-m", "normcore", "spec.json").splitlines()[-1])
    assert [finding["verdict"] for finding in analysed["findings"]] == [
        "invariant",
        "invariant",
        "not invariant",
        "invariant",
        "not invariant",
        "invariant",
    ]


def test_the_documented_example_is_in_the_catalogue_without_torch(with_example: str, tmp_path: Path) -> None:
    code = (
        "import sys; from normcore.spec.methods import METHODS; from normcore.spec import resolve;"
        f"print(resolve({SPEC}).norm.model_dump(), METHODS['mean_absolute_norm'].title, 'torch' in sys.modules)"
    )
    said = run(with_example, tmp_path, "-c", code)
    options = {"method": "mean_absolute_norm", "sites": ("input", "recurrent", "cell"), "eps": 0.1}
    assert said.strip() == f"{options} Mean absolute normalization False"
