"""Novels from Project Gutenberg, which are in the public domain in the USA."""

from normcore.data.datasets.dataset import DataFile, Dataset

GUTENBERG_BOOKS = Dataset(
    name="gutenberg_books",
    title="Eight novels of the nineteenth century",
    citation="Austen, Collins, Dickens, Eliot, Thackeray, Tolstoy; Project Gutenberg",
    licence="public domain in the USA",
    homepage="https://www.gutenberg.org",
    description="For users who cannot get BookCorpus or CNN's news. There is no published result on these novels.",
    files=(
        DataFile("bleak-house_1023.txt", "51c12bd20b0c8efbe08578b4966adb9ece1805f2ff8d96e6b02c4562a4797449", 2_001_188),
        DataFile(
            "david-copperfield_766.txt", "c43537db85ec5df721765a9516d951aec99920b0cf1abcf1eb0a790191ccbc11", 1_992_563
        ),
        DataFile(
            "great-expectations_1400.txt", "64cd8797f6439d21be03154b8e3e97c4fe8c0df6f032a98871a5554c0621c500", 1_033_801
        ),
        DataFile("middlemarch_145.txt", "f499b77eb0e4e34edc3bae6b968e3241c8327384631bd26e8eec76b726915a7d", 1_847_708),
        DataFile(
            "pride-and-prejudice_1342.txt", "441e778a4297bfc944dc254810e8ded3134cfb0e36d73eef6bb312b4ffd74d6a", 717_602
        ),
        DataFile(
            "the-woman-in-white_583.txt", "19007f23f185050fb09ec505260cd14fe0ff7286b11f69f2fd49515da8ff84f2", 1_405_857
        ),
        DataFile("vanity-fair_599.txt", "f87d4d8827cae32ddd94bea0558baaf48af26885a35777b5cb88c7aecf1297a9", 1_765_734),
        DataFile(
            "war-and-peace_2600.txt", "31b5d23be25fe9ad27eca1e78f9f449ae2e17adf07ce62238a79425c53a96646", 3_226_652
        ),
    ),
)
