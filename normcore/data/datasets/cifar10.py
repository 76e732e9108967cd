"""CIFAR-10 in its binary version, and a part of it for machines that cannot hold the whole."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOMEPAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
CITATION = "Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images"
LICENCE = "none stated by the authors, who ask to be cited"


def _file(name: str, sha256: str) -> DataFile:
    return DataFile(name, sha256, 30_730_000, (ARCHIVE,), member=f"cifar-10-batches-bin/{name}")


CIFAR10 = Dataset(
    name="cifar10",
    title="CIFAR-10: 60,000 colour images of 10 classes (32x32)",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="The official binary version. The last 5,000 of the 50,000 training images validate.",
    files=(
        _file("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        _file("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        _file("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        _file("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        _file("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        _file("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    ),
)
CIFAR10_SUBSET = Dataset(
    name="cifar10_subset",
    title="The first 10,000 training and 1,000 test images of CIFAR-10",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="A part of CIFAR-10 in a split of our own: 9,000 images train, 1,000 validate, 1,000 test. Compares"
    " with no published result: those are on all of CIFAR-10.",
    part_of="cifar10",
    files=(
        DataFile(
            name="cifar10_train10k_test1k.npz",
            sha256="d01586512e0bb9414f19b9113ad5fed9ef86e61a6c52d99801c2ab302c3fad50",
            size=31_051_074,
        ),
    ),
)
