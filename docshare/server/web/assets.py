"""Style sheets, scripts, fonts and icons. Their URLs contain a fingerprint of all of them, so browsers may cache
them.

The fingerprint is a directory and not a query, so that modules and style sheets refer to each other by relative paths
and an update can never mix old and new files.
"""

import hashlib
import posixpath
import re
from functools import cache
from pathlib import Path

from flask import Blueprint, Response

from docshare import report
from docshare.contract.problems import Problem
from docshare.server.api import answers

ROOT = Path(__file__).with_name("static")
# The style of the report is also embedded in report files, so it is in the report package.
_ROOTS = {"": ROOT, "report/": report.STATIC}
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_PRECOMPRESSED = {".woff2"}  # compressed by its format
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_REVALIDATE = "public, max-age=0, must-revalidate"
_IMPORT = re.compile(r'^(?:import|}) .*"(\.[^"]+)";$', re.MULTILINE)

blueprint = Blueprint("assets", __name__)


def _find_files() -> dict[str, Path]:
    return {
        f"{prefix}{path.relative_to(root).as_posix()}": path
        for prefix, root in _ROOTS.items()
        for path in sorted(root.rglob("*"))
        if path.suffix in _TYPES
    }


def _compute_fingerprint(files: dict[str, Path]) -> str:
    whole = hashlib.sha256()
    for name, path in files.items():
        whole.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


_FILES = _find_files()
_FINGERPRINT = _compute_fingerprint(_FILES)


def asset_url(name: str) -> str:
    """Return the URL of the static file ``name``, a path below ``static``. Raises KeyError if it does not exist."""
    _FILES[name]
    return f"/static/{_FINGERPRINT}/{name}"


@cache
def list_viewer_modules(mode: str, *more: str) -> list[str]:
    """Return the URLs of the modules that the viewer ``mode``, ``more`` and their imports need.

    They are loaded at once instead of one import after another. Raises KeyError for a mode that does not exist.
    """
    found: dict[str, None] = {}
    waiting = ["viewer/main.js", "viewer/reading.js", f"viewer/modes/{mode}.js", *more]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            imported = _IMPORT.findall(_FILES[name].read_text(encoding="utf-8"))
            waiting += [posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path in imported]
    return [asset_url(name) for name in sorted(found)]


@blueprint.get("/static/<mark>/<path:name>")
def static(mark: str, name: str) -> Response:
    """Return one static file. A page of an earlier version gets the current file, but must not cache it."""
    if name not in _FILES:
        raise Problem("not_found", "There is no such file.")
    return answers.send_static(_load_file(name), _CACHE_FOREVER if mark == _FINGERPRINT else _REVALIDATE)


@cache
def _load_file(name: str) -> answers.StaticBody:
    """Return the static file ``name``, which is kept in memory, also compressed; all of them have half a megabyte."""
    path = _FILES[name]
    return answers.make_static(path.read_bytes(), _TYPES[path.suffix], compress=path.suffix not in _PRECOMPRESSED)
