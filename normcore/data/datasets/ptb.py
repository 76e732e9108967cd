"""Penn Treebank in Mikolov's split."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOME = "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"


def _file(name: str, size: int, sha256: str) -> DataFile:
    return DataFile(name, sha256, size, (HOME,), member=f"simple-examples/data/{name}")


PTB = Dataset(
    name="ptb",
    title="Penn Treebank, Mikolov's split, as characters",
    citation="Marcus et al. 1993; preprocessing by Mikolov et al. 2010; Mikolov et al. 2012",
    licence="LDC material; Mikolov's README: should be free for research purposes",
    homepage="http://www.fit.vutbr.cz/~imikolov/rnnlm/",
    files=(
        _file("ptb.char.train.txt", 10_034_964, "e313d91425e06c4f0a8fb6e881dcce0c291f2a0e9f4dda54833069b122f91da9"),
        _file("ptb.char.valid.txt", 786_084, "21661f63ec355085879458b6524644d4add5573541b4be14fb52ab2e2e995eb8"),
        _file("ptb.char.test.txt", 884_846, "1ef5607ac3c463b16e38bfe7900dd3bfc91de5a96e0f21e7eab5188b465b8ebe"),
    ),
)
