"""Binarized MNIST of Salakhutdinov and Murray: the text files that Larochelle publishes, and a packed copy."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOMEPAGE = "http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/"
CITATION = "Salakhutdinov and Murray 2008; Larochelle and Murray 2011"
LICENCE = "none stated by the authors"


def _file(part: str, size: int, sha256: str) -> DataFile:
    name = f"binarized_mnist_{part}.amat"
    return DataFile(name, sha256, size, (HOMEPAGE + name,))


BINARIZED_MNIST = Dataset(
    name="binarized_mnist",
    title="Binarized MNIST: each pixel is 0 or 1, drawn once",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="50,000 images train, 10,000 validate, 10,000 test, as in the three files.",
    files=(
        _file("train", 78_400_000, "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d"),
        _file("valid", 15_680_000, "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2"),
        _file("test", 15_680_000, "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c"),
    ),
)
MNIST_BITS = Dataset(
    name="mnist_bits",
    title="Binarized MNIST, packed: eight pixels in a byte",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="The images of binarized_mnist. Written as text, they give its three files byte for byte.",
    files=(
        DataFile(
            name="binarized_mnist_packed.npz",
            sha256="50de2c8299a5a297789293ab2c30f6fc3cb8c359a15e5e88d5501aa18ebb8fa5",
            size=2_295_919,
        ),
    ),
    stored_in="binarized_mnist",
)
