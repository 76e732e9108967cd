"""Data sets that come with an installed package."""

from normcore.data.datasets.dataset import Dataset

DIGITS = Dataset(
    name="digits",
    title="Optical recognition of handwritten digits (8x8)",
    citation="Alpaydin and Kaynak 1998, UCI Machine Learning Repository",
    licence="CC BY 4.0; bundled with scikit-learn",
    homepage="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    content_sha256="65e5b4619795efb40c1082f4c350c049e4ad552200d369b6ae99e21eef5e72c5",
)
PYDOC = Dataset(
    name="pydoc",
    title="The topics of Python's own documentation",
    citation="Python Software Foundation, pydoc_data.topics",
    licence="PSF licence; bundled with Python, so its text changes with the version",
    homepage="https://docs.python.org/3/",
)
