"""IAM-OnDB, handwriting on a whiteboard: the files that registered users get, and a packed copy."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOMEPAGE = "https://fki.tic.heia-fr.ch/databases/iam-on-line-handwriting-database"
CITATION = "Liwicki and Bunke 2005, IAM-OnDB, ICDAR"
LICENCE = "non-commercial research, after registration; not to be passed on"

IAM_ONDB = Dataset(
    name="iam_ondb",
    title="IAM on-line handwriting: an XML file a line",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="Register at the homepage. No digests are published; those of your files are recorded.",
    files=tuple(
        DataFile(name)
        for name in (
            "lineStrokes-all.tar",
            "ascii-all.tar",
            "trainset.txt",
            "testset_v.txt",
            "testset_t.txt",
            "testset_f.txt",
        )
    ),
)
IAM_ONDB_PACKED = Dataset(
    name="iam_ondb_packed",
    title="IAM on-line handwriting, packed as arrays of offsets",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="12,195 lines, of which 12,178 have a transcription and 12,179 a split.",
    files=(
        DataFile(
            "iam_ondb_strokes.npz", "6bd2e33ca6460718187cf8a46a5968a1f45e3dcba5a55263f16f98682da085ed", 15_955_294
        ),
        DataFile("iam_ondb_lines.tsv", "f6186b8f68f94872d7abd7d770ea1ee1c34c9a5304943eb95acd58ef844f02ca", 625_492),
    ),
    stored_in="iam_ondb",
)
