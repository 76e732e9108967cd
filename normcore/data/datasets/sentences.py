"""Data sets that train and evaluate skip-thoughts: sentences and word vectors."""

from normcore.data.datasets.dataset import DataFile, Dataset

BOOKCORPUS = Dataset(
    name="bookcorpus",
    title="BookCorpus: sentences of novels that were not published",
    citation="Zhu et al. 2015, arXiv:1506.06724",
    licence="none; its makers give it out no more",
    homepage="https://yknzhu.wixsite.com/mbweb",
    description="The two files, a sentence a line. No digests are published; those of your files are recorded.",
    files=(DataFile("books_large_p1.txt"), DataFile("books_large_p2.txt")),
)
SENTENCE_EVAL = Dataset(
    name="sentence_eval",
    title="SICK, MR, CR, SUBJ and MPQA",
    citation="Marelli et al. 2014; Pang and Lee 2004; Pang and Lee 2005; Hu and Liu 2004; Wiebe et al. 2005",
    licence="SICK: CC BY-NC-SA 3.0; others: research",
    homepage="https://github.com/ryankiros/skip-thoughts",
    description="The files as their makers gave them out; no digests are published, those here are of copies that"
    " several public repositories hold alike.",
    files=(
        DataFile("SICK_train.txt", "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e", 506_243),
        DataFile("SICK_trial.txt", "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56", 57_225),
        DataFile(
            "SICK_test_annotated.txt", "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0", 559_979
        ),
        DataFile("rt-polarity.neg", "4ace77d558c3714723843f1d65b60c01e3417b208180f0728808d76ad0eeeaca", 612_256),
        DataFile("rt-polarity.pos", "2da124ec187a9d5a29c9f04e91c540e02baed5af8868f550a26bd6fd4dbf8bf0", 626_139),
        DataFile("custrev.neg", "8f29d7fa39f9862764b71f36b193f0674e0056287ffc5bf170edf6db42cc8f83", 141_095),
        DataFile("custrev.pos", "15eeb0b9424043bb3755488e2d8ed97bdaeba464a5c230f213bad075125d2192", 225_449),
        DataFile("subj.subjective", "73a2dcf8dc3cbcc7f068a70ef9f021c86b2a8e4dac81566b7fd015b3e938f2c5", 630_790),
        DataFile("subj.objective", "5ddc9b44dc60d64d651347fcd7bdd489b0c70661e3f768215c16eea36f51204a", 669_456),
        DataFile("mpqa.neg", "02e193d98c7715bc6200bb23dc6d2903482bd80c0432c53c3f3738c636df3f72", 151_521),
        DataFile("mpqa.pos", "f4aaafdd63c439fd2d056149f3b5d200416dabb200a8b7d8f4bf9903981ff8a5", 57_239),
    ),
)
WORD2VEC = Dataset(
    name="word2vec",
    title="Word vectors of Google News",
    citation="Mikolov et al. 2013, arXiv:1310.4546",
    licence="Apache 2.0",
    homepage="https://code.google.com/archive/p/word2vec/",
    description="GoogleNews-vectors-negative300.bin. No digest is published; that of your file is recorded.",
    files=(DataFile("GoogleNews-vectors-negative300.bin"),),
)
