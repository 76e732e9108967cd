"""What each data set is: its files with digests and official homes, and what the catalogue says of it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file, stored as ``<data sets' directory>/<data set>/<name>``, plain or with ``.gz`` added.

    Attributes:
        name: the official name, without ``.gz``.
        sha256: digest of the uncompressed content, so that any wrapper of the official bytes serves.
        size: uncompressed bytes.
        urls: where it can be had, the official home first; ``.gz`` is stored as it comes.
        member: its path inside the ``.tgz`` that the URLs lead to, if they do.
    """

    name: str
    sha256: str
    size: int
    urls: tuple[str, ...]
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set. One without files comes bundled with an installed package."""

    name: str
    title: str
    citation: str
    licence: str
    homepage: str
    files: tuple[DataFile, ...] = ()


MNIST_HOMES = (
    "http://yann.lecun.com/exdb/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",  # the mirror torchvision uses
)
PTB_HOME = "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"


def _mnist_file(name: str, size: int, sha256: str) -> DataFile:
    return DataFile(name, sha256, size, tuple(f"{home}{name}.gz" for home in MNIST_HOMES))


def _ptb_file(name: str, size: int, sha256: str) -> DataFile:
    return DataFile(name, sha256, size, (PTB_HOME,), member=f"simple-examples/data/{name}")


_ALL = (
    Dataset(
        name="digits",
        title="Optical recognition of handwritten digits (8x8)",
        citation="Alpaydin and Kaynak 1998, UCI Machine Learning Repository",
        licence="CC BY 4.0; bundled with scikit-learn",
        homepage="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    ),
    Dataset(
        name="pydoc",
        title="The topics of Python's own documentation",
        citation="Python Software Foundation, pydoc_data.topics",
        licence="PSF licence; bundled with Python, so its text changes with the version",
        homepage="https://docs.python.org/3/",
    ),
    Dataset(
        name="mnist",
        title="MNIST handwritten digits",
        citation="LeCun, Cortes, Burges, The MNIST database of handwritten digits",
        licence="none stated by the authors; commonly given as CC BY-SA 3.0",
        homepage="http://yann.lecun.com/exdb/mnist/",
        files=(
            _mnist_file(
                "train-images-idx3-ubyte",
                47_040_016,
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            _mnist_file(
                "train-labels-idx1-ubyte",
                60_008,
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            _mnist_file(
                "t10k-images-idx3-ubyte",
                7_840_016,
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            _mnist_file(
                "t10k-labels-idx1-ubyte",
                10_008,
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ),
    ),
    Dataset(
        name="ptb",
        title="Penn Treebank, Mikolov's split, as characters",
        citation="Marcus et al. 1993; preprocessing by Mikolov et al. 2010, 2012",
        licence="LDC material; Mikolov's README: should be free for research purposes",
        homepage="http://www.fit.vutbr.cz/~imikolov/rnnlm/",
        files=(
            _ptb_file(
                "ptb.char.train.txt",
                10_034_964,
                "e313d91425e06c4f0a8fb6e881dcce0c291f2a0e9f4dda54833069b122f91da9",
            ),
            _ptb_file(
                "ptb.char.valid.txt",
                786_084,
                "21661f63ec355085879458b6524644d4add5573541b4be14fb52ab2e2e995eb8",
            ),
            _ptb_file(
                "ptb.char.test.txt",
                884_846,
                "1ef5607ac3c463b16e38bfe7900dd3bfc91de5a96e0f21e7eab5188b465b8ebe",
            ),
        ),
    ),
)
DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
