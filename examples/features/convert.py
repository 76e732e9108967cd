"""Image features of other programs as the npy file that task ``order_embedding`` reads.

    python convert.py vgg_feats.mat coco_vgg19_10crop.npy --columns
    python convert.py train.pkl restval.npy val.npz test.npy coco_vgg19_10crop.npy --crops 10

Rows must be in the order of the images in dataset_coco.json. Nothing in a pickle is run: only numpy's arrays are made.
"""

import argparse
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

ALLOWED = {
    ("_codecs", "encode"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
}


class ArraysAlone(pickle.Unpickler):
    """Numpy's arrays, and the lists and dictionaries that hold them."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, and may hold numpy arrays alone")
        return super().find_class(module, name)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "source", nargs="+", type=Path, help="mat, npy, npz or pickle files, in the order of their rows"
    )
    parser.add_argument("target", type=Path, help="the npy file to write")
    parser.add_argument("--key", help="which array of a mat, npz or pickle file, if it has several")
    parser.add_argument("--columns", action="store_true", help="an image is a column, not a row (vgg_feats.mat)")
    parser.add_argument(
        "--crops", type=_crops, default=1, help="rows in turn that belong to one image: their mean counts"
    )
    options = parser.parse_args(arguments)
    try:
        parts = [features(source, options.key, options.columns, options.crops) for source in options.source]
        if len({part.shape[1] for part in parts}) > 1:
            raise ValueError(f"the files have {', '.join(str(part.shape[1]) for part in parts)} numbers an image")
        if options.target.suffix != ".npy":
            raise ValueError(f"{options.target}: expected a name that ends in .npy")
        whole = np.concatenate(parts)
        np.save(options.target, whole)
    except (ValueError, OSError, MemoryError) as error:
        print(f"convert.py: {error}", file=sys.stderr)
        return 1
    print(f"{options.target}: {len(whole):,} images of {whole.shape[1]:,} numbers")
    return 0


def _crops(text: str) -> int:
    crops = int(text)
    if crops < 1:
        raise argparse.ArgumentTypeError("expected one crop or more")
    return crops


def features(path: Path, key: str | None, columns: bool, crops: int) -> np.ndarray:
    """(N, F) float32 of one file.

    Raises:
        ValueError: it holds something else; the message names the file.
    """
    reader = READERS.get(path.suffix)
    if reader is None:
        raise ValueError(f"{path}: expected a file that ends in {', '.join(READERS)}")
    with path.open("rb") as stream:
        try:
            found = _chosen(reader(stream), key)
        except Exception as error:  # a damaged file makes these libraries raise whatever they stumble over
            raise ValueError(f"{path}: it cannot be read: {str(error) or type(error).__name__}") from error
    if found.ndim != 2 or found.dtype.kind not in "fiu" or not found.size:
        raise ValueError(f"{path}: expected a table of numbers, received {found.dtype.name} of shape {found.shape}")
    if columns:
        found = found.T
    if len(found) % crops:
        raise ValueError(f"{path}: {len(found):,} rows cannot be shared out by {crops} crops")
    found = found.reshape(-1, crops, found.shape[1]).mean(1, dtype=np.float64).astype(np.float32)
    if not np.isfinite(found).all():
        raise ValueError(f"{path}: image {int(np.argmin(np.isfinite(found).all(1)))} has a number that is not finite")
    return found


def _chosen(loaded: Any, key: str | None) -> np.ndarray:
    if isinstance(loaded, np.ndarray):
        return loaded
    arrays = {}
    if isinstance(loaded, Mapping):
        arrays = {name: value for name, value in loaded.items() if isinstance(value, np.ndarray)}
    if key is not None and key in arrays:
        return arrays[key]
    if key is None and len(arrays) == 1:
        return next(iter(arrays.values()))
    raise ValueError(f"expected one array, or --key to name one of: {', '.join(sorted(arrays)) or 'none'}")


def _mat(stream: BinaryIO) -> Mapping[str, Any]:
    from scipy.io import loadmat

    return {name: value for name, value in loadmat(stream).items() if not name.startswith("__")}


def _numpy(stream: BinaryIO) -> Any:
    loaded = np.load(stream, allow_pickle=False)
    return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}


def _pickle(stream: BinaryIO) -> Any:
    return ArraysAlone(stream, encoding="latin1").load()


READERS: Mapping[str, Callable[[BinaryIO], Any]] = {
    ".mat": _mat,
    ".npy": _numpy,
    ".npz": _numpy,
    ".pkl": _pickle,
    ".pickle": _pickle,
}

if __name__ == "__main__":
    raise SystemExit(main())
