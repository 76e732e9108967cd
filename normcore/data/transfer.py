"""Download one file over HTTP, and go on where an earlier attempt stopped.

An incomplete file is called ``<name>.part``. ``<name>.part.json`` beside it says which version of the server's file it
belongs to: the rest is requested only of the same version. The caller must check the complete file, since a server may
change the file without a sign.
"""

import json
import posixpath
import re
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError

from normcore.data.files import CHUNK, DatasetError

TIMEOUT = 60.0  # seconds without a byte
MAX_DOWNLOAD = 1 << 30  # bytes
PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE = 206, 416

Progress = Callable[[str, int, int | None], None]
"""Callback of a download: file name, bytes so far, bytes in all (None if the server does not say)."""


class DownloadFailed(DatasetError):
    """A file could not be downloaded."""


@dataclass(frozen=True, slots=True)
class Version:
    """Version of the file on the server that a partial download belongs to.

    Attributes:
        validator: the file's ETag, or else its time of modification, to be sent in ``If-Range``; None if the server
            gave neither.
        size: bytes in all; None if the server did not say.
    """

    url: str
    validator: str | None
    size: int | None


def download(url: str, folder: Path, progress: Progress | None = None) -> tuple[Path, bool]:
    """Download ``url`` into ``folder``.

    Returns:
        The file's path (with the file name of the URL), and whether some of its bytes come from an earlier attempt.

    Raises:
        DownloadFailed: the download failed; the bytes that came are kept, and the next call goes on from there.
    """
    path = folder / posixpath.basename(url)
    if path.exists():
        return path, True
    part = folder / (path.name + ".part")
    try:
        with _ask(url, part) as answer:
            resumed = answer.status == PARTIAL_CONTENT
            _receive(answer, url, part, resumed, progress)
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadFailed(f"{url}: {error}{_describe_kept_part(part)}") from error
    part.rename(path)
    _memo(part).unlink()
    return path, resumed


def _describe_kept_part(part: Path) -> str:
    return f" ({part.stat().st_size:,} bytes are kept; fetch again to go on from there)" if part.exists() else ""


def _ask(url: str, part: Path) -> HTTPResponse:
    """Ask the server for the rest of a partial download, or for the whole file.

    The whole file is requested if there is no partial download, or if the server's file has changed since.
    """
    earlier = _earlier(part)
    if earlier is None or earlier.url != url:
        return _open(url, {})
    have = part.stat().st_size
    wanted = {"Range": f"bytes={have}-"} | ({"If-Range": earlier.validator} if earlier.validator else {})
    try:
        answer = _open(url, wanted)
    except HTTPError as error:
        if error.code != RANGE_NOT_SATISFIABLE:
            raise
        return _open(url, {})
    if answer.status != PARTIAL_CONTENT or _continues(answer.headers, have, earlier):
        return answer
    answer.close()
    return _open(url, {})


def _open(url: str, headers: dict[str, str]) -> HTTPResponse:
    answer: HTTPResponse = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    return answer


def _continues(headers: Message, have: int, earlier: Version) -> bool:
    """Tell if the answer begins after the ``have`` bytes that are on disk, and has the file's version ``earlier``."""
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", "").strip())
    if found is None or int(found[1]) != have:
        return False
    size = None if found[2] == "*" else int(found[2])
    same_size = size is None or earlier.size is None or size == earlier.size
    return same_size and _validator(headers) in (None, earlier.validator)


def _validator(headers: Message) -> str | None:
    etag = headers.get("ETag")
    if etag and not etag.startswith("W/"):  # a weak ETag is not allowed in If-Range
        return str(etag)
    modified = headers.get("Last-Modified")
    return str(modified) if modified else None


def _receive(answer: HTTPResponse, url: str, part: Path, resumed: bool, progress: Progress | None) -> None:
    length = answer.headers.get("Content-Length")
    done = part.stat().st_size if resumed else 0
    total = done + int(length) if length else None
    if not resumed:
        _begin(part, Version(url, _validator(answer.headers), total))
    with part.open("ab") as out:
        while chunk := answer.read(CHUNK):
            done += len(chunk)
            if done > MAX_DOWNLOAD:
                part.unlink()
                raise ValueError(f"more than {MAX_DOWNLOAD:,} bytes")
            out.write(chunk)
            if progress is not None:
                progress(part.stem, done, total)
    if total is not None and done != total:
        raise ValueError(f"the connection broke after {done:,} of {total:,} bytes")


def _begin(part: Path, version: Version) -> None:
    """Start the partial download anew. Old bytes are removed before the new version is written down."""
    part.unlink(missing_ok=True)
    _memo(part).write_text(json.dumps(asdict(version)))


def _earlier(part: Path) -> Version | None:
    """Version of the partial file that an earlier attempt left; None if there is no such file or no known version."""
    if not part.exists():
        return None
    try:
        return Version(**json.loads(_memo(part).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _memo(part: Path) -> Path:
    return part.with_name(part.name + ".json")
