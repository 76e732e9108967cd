"""The digests that say which data a result was computed on, without reading the data. Torch-free."""

import hashlib
import sys
from collections.abc import Mapping
from functools import cache

from normcore.data.datasets import DATASETS
from normcore.data.pydoc import pydoc_text


@cache
def checksums(name: str) -> Mapping[str, str]:
    """The digests of the data set called ``name``: the keys and values that its module gives as ``checksums``.

    Raises:
        KeyError: there is no such data set.
    """
    dataset = DATASETS[name]
    if name == "pydoc":
        version = ".".join(map(str, sys.version_info[:3]))
        return {f"pydoc {version}": hashlib.sha256(pydoc_text().encode()).hexdigest()}
    if dataset.content_sha256 is not None:
        return {name: dataset.content_sha256}
    return {f"{name}/{file.name}": file.sha256 for file in dataset.files}
