"""MNIST: its four files, with digests and addresses."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOMES = (
    "http://yann.lecun.com/exdb/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",  # the mirror that torchvision uses
)


def _file(name: str, size: int, sha256: str) -> DataFile:
    return DataFile(name, sha256, size, tuple(f"{home}{name}.gz" for home in HOMES))


MNIST = Dataset(
    name="mnist",
    title="MNIST handwritten digits",
    citation="LeCun, Cortes, Burges 1998, The MNIST database of handwritten digits",
    licence="none stated by the authors; commonly given as CC BY-SA 3.0",
    homepage="http://yann.lecun.com/exdb/mnist/",
    files=(
        _file(
            "train-images-idx3-ubyte", 47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
        ),
        _file("train-labels-idx1-ubyte", 60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        _file("t10k-images-idx3-ubyte", 7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        _file("t10k-labels-idx1-ubyte", 10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ),
)
