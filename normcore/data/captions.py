"""Captioned images: features of each image, computed by a network, and captions that people wrote."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import torch
from torch import Tensor

from normcore.data.lines import lines_of
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, present_checksums, read_bytes, read_chunks

CAPTIONS = 5  # per image
COCO_JSON, COCO_FEATURES, COCO_WIDTH = "dataset_coco.json", "coco_vgg19_10crop.npy", 4096
FLICKR_FEATURES, FLICKR_CAPTIONS, FLICKR_NAMES = (
    "flickr8k_test1000_xception_probs.npz",
    "Flickr8k.token.txt",
    "Flickr_8k.testImages.txt",
)
HEADER = 2**16  # bytes; an npy file's numbers begin within them
FLICKR_TRAIN, FLICKR_VALID = 800, 100  # of the 1,000 Flickr8k images that have features
COCO_SPLITS = {"train": "train", "restval": "train", "val": "valid", "test": "test"}  # Karpathy and Fei-Fei 2015


@dataclass(frozen=True, slots=True)
class CaptionSplit:
    """Captioned images: features (N, F) float32, and ``CAPTIONS`` captions of each image, as lists of words."""

    features: Tensor
    captions: Sequence[Sequence[Sequence[str]]]

    def __len__(self) -> int:
        return len(self.captions)

    def first(self, images: int | None) -> "CaptionSplit":
        """Limit to the first ``images`` images; None keeps all."""
        return (
            self if images is None else replace(self, features=self.features[:images], captions=self.captions[:images])
        )


@dataclass(frozen=True, slots=True)
class CaptionedImages:
    """Captioned images in three splits, and the digests of their files."""

    train: CaptionSplit
    valid: CaptionSplit
    test: CaptionSplit
    checksums: Mapping[str, str]


def load(name: str, datasets_dir: Path | None) -> CaptionedImages:
    """Read ``coco_karpathy`` or ``flickr8k_1000``.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be; the message names the file.
    """
    dataset = DATASETS[name]
    if name == "coco_karpathy":
        features = read_features(read_chunks(dataset, COCO_FEATURES, datasets_dir), COCO_FEATURES, COCO_WIDTH)
        parts = parse_karpathy(read_bytes(dataset, COCO_JSON, datasets_dir), COCO_JSON, features)
        return CaptionedImages(**parts, checksums=present_checksums(dataset, datasets_dir))
    names = read_bytes(dataset, FLICKR_NAMES, datasets_dir).decode().split()
    said = parse_token_file(read_bytes(dataset, FLICKR_CAPTIONS, datasets_dir).decode(), FLICKR_CAPTIONS)
    with np.load(io.BytesIO(read_bytes(dataset, FLICKR_FEATURES, datasets_dir)), allow_pickle=False) as archive:
        logits = torch.from_numpy(archive["probs"]).log()
    logits -= logits.mean(1, keepdim=True)
    whole = CaptionSplit(logits, [said[name] for name in names])
    cuts = (0, FLICKR_TRAIN, FLICKR_TRAIN + FLICKR_VALID, len(whole))
    train, valid, test = (CaptionSplit(whole.features[a:b], whole.captions[a:b]) for a, b in pairwise(cuts))
    return CaptionedImages(train, valid, test, dict(checksums(name)))


def read_features(chunks: Iterable[bytes], name: str, width: int) -> Tensor:
    """Read the features (N, width), float32, of an npy file. Python objects in the file are refused.

    Features that are float32 in the file are never copied in memory.

    Raises:
        DatasetCorrupt: the file is not an npy file of numbers, or has another width.
    """
    content, expected = bytearray(), 0
    for chunk in chunks:
        content += chunk
        if not expected and len(content) >= HEADER:
            expected = _size(content, name, width)
        if expected and len(content) > expected:
            break
    expected = expected or _size(content, name, width)
    if len(content) != expected:
        raise DatasetCorrupt(
            f"{name}: expected {expected:,} bytes, as its header says, received {len(content):,} or more; convert it"
            " again by examples/features"
        )
    shape, fortran, dtype, begin = _header(content)
    numbers = np.frombuffer(content, dtype, offset=begin).reshape(shape, order="F" if fortran else "C")
    found = torch.from_numpy(numbers.astype(np.float32, copy=False))
    if not found.isfinite().all():
        row = int((~found.isfinite()).any(1).nonzero()[0])
        raise DatasetCorrupt(f"{name}, row {row}: expected finite numbers")
    return found


def _size(content: bytearray, name: str, width: int) -> int:
    """Size in bytes that the file beginning with ``content`` should have, by its header.

    Raises:
        DatasetCorrupt: the file is not an npy file of numbers (images, width).
    """
    try:
        shape, _, dtype, begin = _header(content)
        if dtype.kind not in "fiu":
            raise ValueError(f"it holds {dtype.name}")
    except NO_HEADER as error:
        raise DatasetCorrupt(f"{name} is no npy file of numbers: {error}; convert it by examples/features") from error
    if len(shape) != 2 or shape[1] != width:
        raise DatasetCorrupt(f"{name}: expected features of shape (images, {width}), received {shape}")
    return begin + shape[0] * width * dtype.itemsize


NO_HEADER = (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)
"""Errors that numpy raises if a header is damaged."""


def _header(content: bytearray) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Read an npy header: shape, whether the order is column-major, dtype, and the offset of the numbers in bytes."""
    stream = io.BytesIO(content[:HEADER])
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"expected version 1 or 2 of the format, received {version[0]}")
    shape, fortran, dtype = read(stream)
    if any(length < 0 for length in shape):
        raise ValueError(f"its shape is {shape}")
    return shape, fortran, dtype, stream.tell()


def parse_karpathy(content: bytes, name: str, features: Tensor) -> dict[str, CaptionSplit]:
    """Parse Karpathy's JSON into its splits. Row k of ``features`` (N, F) belongs to image k of the JSON.

    Raises:
        DatasetCorrupt: the JSON has another form; the message names the image.
    """
    try:
        images: list[dict[str, Any]] = json.loads(content)["images"]
        if not isinstance(images, list):
            raise TypeError("images is no list")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DatasetCorrupt(f"{name}: expected an object with images ({error}); download it again") from error
    if len(images) != len(features):
        raise DatasetCorrupt(
            f"{name} has {len(images):,} images, but the features file has {len(features):,} rows; convert the features"
            " of these images in their order by examples/features"
        )
    rows: dict[str, list[int]] = {"train": [], "valid": [], "test": []}
    captions = []
    for k, image in enumerate(images):
        try:
            rows[COCO_SPLITS[image["split"]]].append(k)
            said = [_tokens(sentence["tokens"]) for sentence in image["sentences"][:CAPTIONS]]
        except (KeyError, TypeError) as error:
            raise DatasetCorrupt(
                f"{name}, image {k}: expected a split and sentences with tokens ({error}); download it again"
            ) from error
        if len(said) < CAPTIONS or not all(said):
            raise DatasetCorrupt(
                f"{name}, image {k}: expected {CAPTIONS} captions of a word or more, received {len(said)}; download it"
                " again"
            )
        captions.append(said)
    for split, own in rows.items():
        if not own:
            raise DatasetCorrupt(f"{name} has no image of the {split} split; download it again")
    return {split: CaptionSplit(features[own], [captions[k] for k in own]) for split, own in rows.items()}


def _tokens(found: Any) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(word, str) and word and _is_text(word) for word in found):
        raise TypeError(f"tokens are {str(found)[:40]!r}, no list of words")
    return found


def _is_text(word: str) -> bool:
    """Tell if a word can be encoded: JSON may hold half of a surrogate pair, which cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in word)


def parse_token_file(text: str, name: str) -> dict[str, list[list[str]]]:
    """Parse a file in Flickr8k's form, ``image.jpg#0``, a tabulator, the caption: ``CAPTIONS`` captions of each image.

    Words are in lower case; punctuation marks are left out.

    Raises:
        DatasetCorrupt: a line has another form (the message has the line's number), or an image has too few captions.
    """
    said: dict[str, list[list[str]]] = {}
    for number, line in enumerate(lines_of(text), 1):
        image, hash_, rest = line.partition("#")
        place, tab, caption = rest.partition("\t")
        words = [word for word in caption.lower().split() if any(map(str.isalnum, word))]
        if not hash_ or not tab or not words or place != str(len(said.get(image, []))):
            raise DatasetCorrupt(
                f"{name}, line {number}: expected image#{len(said.get(image, []))}, a tabulator, a caption"
            )
        said.setdefault(image, []).append(words)
    for image, own in said.items():
        if len(own) != CAPTIONS:
            raise DatasetCorrupt(f"{name}: expected {CAPTIONS} captions of {image}, received {len(own)}")
    return said
