"""A user's own text file below the data sets' directory: find it, check it, read it."""

import hashlib
from pathlib import Path

from normcore.data.stored import DatasetCorrupt, DatasetMissing, chunks, content_sha256

MAX_TEXT_BYTES = 1 << 30


def locate_text(file: str, datasets_dir: Path | None) -> Path:
    """Where the text is; links may lead anywhere within the data sets' directory, and not out of it.

    Raises:
        DatasetMissing: it is not there.
    """
    if datasets_dir is None:
        raise DatasetMissing(f"text file '{file}': no data sets' directory was given (NORMBENCH_DATASETS_DIR)")
    path = (datasets_dir / file).resolve()
    if not path.is_relative_to(datasets_dir.resolve()):
        raise DatasetMissing(f"text file '{file}' leads out of {datasets_dir}; copy it there")
    if not path.is_file():
        raise DatasetMissing(f"text file '{file}' is not in {datasets_dir}; copy it there")
    return path


def text_sha256(file: str, datasets_dir: Path | None, expected: str | None) -> str:
    """Digest of the uncompressed text.

    Raises:
        DatasetMissing: it is not there.
        DatasetCorrupt: it cannot be read, or its digest is not the expected one.
    """
    actual = content_sha256(locate_text(file, datasets_dir), limit=MAX_TEXT_BYTES)
    _check_digest(file, actual, expected)
    return actual


def read_text(file: str, datasets_dir: Path | None, expected: str | None) -> tuple[str, str]:
    """The text and its digest.

    Raises:
        DatasetMissing: it is not there.
        DatasetCorrupt: it cannot be read, is not UTF-8, or its digest is not the expected one.
    """
    content = b"".join(chunks(locate_text(file, datasets_dir), limit=MAX_TEXT_BYTES))
    actual = hashlib.sha256(content).hexdigest()
    _check_digest(file, actual, expected)
    try:
        return content.decode("utf-8"), actual
    except UnicodeDecodeError as error:
        raise DatasetCorrupt(
            f"text file '{file}' is not UTF-8 (byte {error.start:,}); convert it, or add .gz to its name if it is"
            " compressed"
        ) from error


def _check_digest(file: str, actual: str, expected: str | None) -> None:
    if expected is not None and actual != expected:
        raise DatasetCorrupt(f"text file '{file}' has SHA-256 {actual}, and the spec asks for {expected}")
