"""Digests that identify the data of a result, looked up without reading the data. Torch-free."""

import hashlib
import sys
from collections.abc import Mapping
from functools import cache

from normcore.data.datasets import DATASETS
from normcore.data.pydoc import pydoc_text


@cache
def checksums(name: str) -> Mapping[str, str]:
    """Look up the digests of the data set called ``name``. When its data is read, ``checksums`` has the same digests.

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
