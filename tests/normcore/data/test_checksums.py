"""The registry and the modules that read data sets agree on their checksums."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from normcore.data import cifar10, digits, mnist, text, text8
from normcore.data.registry import DATASETS, checksums


def test_bundled_digits_have_the_checksum_of_the_registry() -> None:
    assert digits.load().checksums == checksums("digits")
    assert set(checksums("digits")) == {"digits"}


def test_text_of_pydoc_is_named_with_the_version_of_python() -> None:
    assert text.pydoc().checksums == checksums("pydoc")
    assert set(checksums("pydoc")) == {f"pydoc {platform.python_version().rstrip('+')}"}


def test_files_are_named_with_their_data_set(datasets_dir: Path) -> None:
    assert mnist.load(datasets_dir).checksums == checksums("mnist")
    assert text.ptb(datasets_dir).checksums == checksums("ptb")
    assert cifar10.load_subset(datasets_dir).checksums == checksums("cifar10_subset")
    assert text8.text8_prefix(datasets_dir).checksums == checksums("text8_prefix")


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.files])
def test_every_file_has_its_digest(name: str) -> None:
    assert checksums(name) == {f"{name}/{file.name}": file.sha256 for file in DATASETS[name].files}


def test_unknown_data_set_has_no_checksums() -> None:
    with pytest.raises(KeyError, match="imagenet"):
        checksums("imagenet")


def test_checksums_need_neither_torch_nor_numpy() -> None:
    code = (
        "import sys; from normcore.data.registry import DATASETS, checksums; print(sum(map(len, map(checksums,"
        " DATASETS)))); sys.exit(bool({'torch', 'numpy', 'sklearn'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(result.stdout) == sum(len(dataset.files) or 1 for dataset in DATASETS.values())
