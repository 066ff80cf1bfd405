"""Style sheets, scripts, fonts and icons. Their addresses hold a fingerprint of all of them, so browsers may keep them.

The fingerprint is a directory and not a query, so that modules and style sheets reach each other by relative paths and
an update can never mix old and new files.
"""

import hashlib
from pathlib import Path

from flask import Blueprint, Response, send_file

from docshare.contract.problems import Problem

ROOT = Path(__file__).with_name("static")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_FOR_GOOD = "public, max-age=31536000, immutable"
_ASK_AGAIN = "public, max-age=0, must-revalidate"

blueprint = Blueprint("assets", __name__)


def _gather() -> dict[str, Path]:
    return {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*")) if path.suffix in _TYPES}


def _fingerprint(files: dict[str, Path]) -> str:
    whole = hashlib.sha256()
    for name, path in files.items():
        whole.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


_FILES = _gather()
_MARK = _fingerprint(_FILES)


def url(name: str) -> str:
    """Address of the static file ``name``, a path below ``static``. Raises KeyError when there is none."""
    _FILES[name]
    return f"/static/{_MARK}/{name}"


def viewer_modules() -> list[str]:
    """Addresses of all modules of the viewer, to be loaded at once instead of one import after another."""
    return [url(name) for name in _FILES if name.startswith("viewer/") and name.endswith(".js")]


@blueprint.get("/static/<mark>/<path:name>")
def static(mark: str, name: str) -> Response:
    """One static file. A page of an earlier version gets today's file, but must not keep it."""
    path = _FILES.get(name)
    if path is None:
        raise Problem("not_found", "There is no such file.")
    response = send_file(path, mimetype=_TYPES[path.suffix])
    response.headers["Cache-Control"] = _FOR_GOOD if mark == _MARK else _ASK_AGAIN
    return response
