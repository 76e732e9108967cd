"""Styles, scripts and symbols. Their addresses change with their content, so that browsers can cache them for ever."""

import gzip
import hashlib
import mimetypes
import re
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

from normcore.figures.styles import PALETTE

OWN = Path(__file__).parent / "static"
MAP_STYLE = re.compile(rb'getElementById\("([0-9a-f]{64})"\)')
MINIMUM_SIZE = 1024  # bytes; to compress a smaller file gains nothing


class StaticFiles:
    """Static files of this service, and of packages: Plotly's script, Swagger UI. Several threads may use it."""

    @cached_property
    def _paths(self) -> dict[str, Path]:
        plotly, swagger = _package("plotly") / "package_data", _package("fastapi_offline") / "static"
        own = {path.name: path for path in sorted(OWN.iterdir()) if path.is_file()}
        packaged = {
            "plotly.min.js": plotly / "plotly.min.js",
            "swagger-ui-bundle.js": swagger / "swagger-ui-bundle.js",
            "swagger-ui.css": swagger / "swagger-ui.css",
        }
        return own | packaged

    @cached_property
    def digest(self) -> str:
        """Digest of all files together: scripts import each other, so that all addresses must change at once."""
        digest = hashlib.blake2b(digest_size=8)
        for name in sorted((*self._paths, PALETTE_FILE)):
            digest.update(name.encode() + self.content(name))
        return digest.hexdigest()

    def address(self, name: str) -> str:
        """Address of a file.

        Raises:
            KeyError: there is no file of this name.
        """
        if name != PALETTE_FILE and name not in self._paths:
            raise KeyError(name)
        return f"/static/{self.digest}/{name}"

    def content(self, name: str) -> bytes:
        """Content of a file.

        Raises:
            KeyError: there is no file of this name.
        """
        return palette_css().encode() if name == PALETTE_FILE else self._paths[name].read_bytes()

    @cached_property
    def map_style_id(self) -> str:
        """Id of the style for maps, which Plotly's script adds to a page that has no element with this id."""
        found = MAP_STYLE.search(self.content("plotly.min.js"))
        assert found is not None, "Plotly's script no longer asks for its map's style by id"
        return found[1].decode()

    @cache  # noqa: B019 - the only instance lives as long as the process
    def compress_file(self, name: str) -> bytes:
        """Content of a file, compressed by gzip.

        Raises:
            KeyError: there is no file of this name.
        """
        return gzip.compress(self.content(name), compresslevel=6, mtime=0)


PALETTE_FILE = "palette.css"
FILES = StaticFiles()


def media_type(name: str) -> str:
    """Media type of a file, by the suffix of its name."""
    known = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    return known.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def palette_css() -> str:
    """CSS with a class for each colour of the palette. Elements of the class are drawn in ``currentColor``."""
    return "".join(f".hue-{style.slot}{{color:light-dark({style.light},{style.dark})}}\n" for style in PALETTE.values())


def _package(name: str) -> Path:
    """Folder of a package, found without importing the package."""
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed; it is part of normbench[server]"
    assert spec.origin is not None
    return Path(spec.origin).parent
