"""Questions about CNN news texts."""

from normcore.data.datasets.dataset import DataFile, Dataset

HOMEPAGE = "https://cs.nyu.edu/~kcho/DMQA/"
CITATION = "Hermann et al. 2015, arXiv:1506.03340"
LICENCE = "none stated; the texts are CNN's"

CNN_QUESTIONS = Dataset(
    name="cnn_questions",
    title="CNN news, questions with a blank",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="380,298 questions train, 3,924 validate, 3,198 test. Get cnn.tgz from the homepage by hand:"
    " no digest is published; that of your file is recorded.",
    files=(DataFile("cnn.tgz"),),
)
CNN_SAMPLE = Dataset(
    name="cnn_sample",
    title="200 CNN questions, texts cut to four sentences",
    citation=CITATION,
    licence=LICENCE,
    homepage=HOMEPAGE,
    description="180 questions train, 10 validate, 10 test. There is no published result on this sample.",
    files=(
        DataFile("cnn_top4_sample200.txt", "bd954c2ffd7eca45c3f50d4c4db7371bf9d04130b5aaf066811d9de6dab94824", 150_255),
    ),
    part_of="cnn_questions",
    stored_in="cnn_qa",
)
