"""text8, and its first part for machines that cannot hold the whole."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOMEPAGE = "http://mattmahoney.net/dc/textdata.html"
CITATION = "Mahoney 2006, Large Text Compression Benchmark; English Wikipedia of March 2006"
LICENCE = "CC BY-SA and GFDL (Wikipedia)"

TEXT8 = Dataset(
    name="text8",
    title="text8: 100,000,000 characters of English Wikipedia",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="The official bytes. Usual split: 90,000,000 characters train, 5,000,000 validate, 5,000,000 test.",
    files=(
        DataFile(
            name="text8",
            sha256="6e890197040d37d85beb962ae1f041ff1d9a9ca8d20c7d99c85027eebf51dca7",
            size=100_000_000,
            urls=("http://mattmahoney.net/dc/text8.zip",),
            member="text8",
        ),
    ),
)
TEXT8_PREFIX = Dataset(
    name="text8_prefix",
    title="The first 6,877,825 characters of text8",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="The beginning of text8 in a split of our own. Compares with no published result: those are on all of"
    " text8.",
    part_of="text8",
    files=(
        DataFile(
            name="text8_first_6877825.txt",
            sha256="8c5551457ad85e6f248e016443493f940756c7582473e6bbfcafcbe27fc98836",
            size=6_877_825,
        ),
    ),
    stored_in="text8",
)
