"""Corpora: texts that are read, split into three contiguous parts, and encoded as numbers of symbols."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from normcore.data import text8
from normcore.data.corpus import Corpus
from normcore.data.pydoc import pydoc_text
from normcore.data.registry import DATASETS, checksums, read_bytes
from normcore.data.text_file import read_text, split_points
from normcore.spec.tasks.char_lm import CharLM

__all__ = ["LOADERS", "Corpus", "load", "ptb", "pydoc", "split", "text_file"]

BOUNDARY = "\n"
PTB_CHARACTERS = {"train": 5_059_550, "valid": 396_412, "test": 446_184}
PTB_SYMBOLS = 50


def load(task: CharLM, datasets_dir: Path | None) -> Corpus:
    """Read the corpus that the task asks for.

    Raises:
        DatasetMissing, DatasetCorrupt: the corpus is not there, or cannot be used.
    """
    return LOADERS[task.corpus](task, datasets_dir)


def text_file(task: CharLM, datasets_dir: Path | None) -> Corpus:
    """Read the user's own text that the task names.

    Raises:
        DatasetMissing, DatasetCorrupt: the text is not there, or cannot be used.
    """
    assert task.file is not None
    text, sha256 = read_text(task.file, datasets_dir, task.sha256)
    return split(text, {task.file: sha256})


def pydoc() -> Corpus:
    """Corpus of Python's documentation topics, in the order of their names, with line ends between them."""
    return split(pydoc_text(), dict(checksums("pydoc")))


def ptb(datasets_dir: Path | None) -> Corpus:
    """Read Penn Treebank as the RBN authors count it: with a boundary symbol before and after every line.

    The authors' array is not public. Two boundary symbols for each line give exactly the sizes of its three splits.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or is not the official file.
    """
    texts = {part: _ptb_text(part, datasets_dir) for part in PTB_CHARACTERS}
    symbols = "".join(sorted(set(texts["train"])))
    assert {part: len(text) for part, text in texts.items()} == PTB_CHARACTERS
    assert len(symbols) == PTB_SYMBOLS
    numbers = {part: _numbers(text, symbols) for part, text in texts.items()}
    return Corpus(numbers["train"], numbers["valid"], numbers["test"], symbols, dict(checksums("ptb")))


def split(text: str, digests: dict[str, str]) -> Corpus:
    """Split a text into three parts; the alphabet is taken from the whole text."""
    symbols = "".join(sorted(set(text)))
    numbers = _numbers(text, symbols)
    first, second = split_points(len(text))
    return Corpus(numbers[:first], numbers[first:second], numbers[second:], symbols, digests)


def _ptb_text(part: str, datasets_dir: Path | None) -> str:
    content = read_bytes(DATASETS["ptb"], f"ptb.char.{part}.txt", datasets_dir).decode("ascii")
    lines = ("".join(line.split()) for line in content.splitlines())
    return "".join(f"{BOUNDARY}{line}{BOUNDARY}" for line in lines if line)  # the files end with a lone space


def _numbers(text: str, symbols: str) -> Tensor:
    """Encode a text as numbers of symbols (N,), int64. ``symbols`` is sorted and has every character of the text."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    alphabet = np.frombuffer(symbols.encode("utf-32-le", "surrogatepass"), np.uint32)
    return torch.from_numpy(np.searchsorted(alphabet, points).astype(np.int64))


LOADERS: Mapping[str, Callable[[CharLM, Path | None], Corpus]] = {
    "pydoc": lambda task, datasets_dir: pydoc(),
    "ptb": lambda task, datasets_dir: ptb(datasets_dir),
    "text8": lambda task, datasets_dir: text8.text8(datasets_dir),
    "text8_prefix": lambda task, datasets_dir: text8.text8_prefix(datasets_dir),
    "file": text_file,
}
"""Function that reads a corpus, by ``task.corpus``."""
