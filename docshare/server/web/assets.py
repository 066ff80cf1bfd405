"""Style sheets, scripts, fonts and icons. Their URLs contain a fingerprint of all of them, so browsers may cache
them.

The fingerprint is a directory and not a query, so that modules and style sheets refer to each other by relative paths
and an update can never mix old and new files.
"""

import hashlib
from functools import cache
from pathlib import Path

from flask import Blueprint, Response

from docshare import report
from docshare.contract.problems import Problem
from docshare.contract.viewer import VIEWER_MODES
from docshare.server.api import answers
from docshare.server.web import bundles, headers

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
_VIEWER = "viewer/"
_MAIN_SCRIPT = "viewer/main.js"
_METER_SCRIPT = "viewer/reading.js"
_FEEDBACK_SCRIPT = "viewer/feedback/index.js"
_PRINT_SCRIPT = "viewer/sheets.js"  # loaded only when a reader prints
_VISIT_SCRIPT = "viewer/visit.js"  # loaded only when a reader asks what is recorded
_TILES_SCRIPT = "viewer/tiles.js"  # loaded only at a high zoom
_SIDEBAR_SCRIPT = "viewer/sidebar/index.js"  # loaded only when a reader opens the sidebar
_PRESENTATION_SCRIPT = "viewer/presentation.js"  # loaded only when a reader starts a presentation
# Style sheets that pages need before they are painted, sent as one.
_COMBINED_STYLES = {
    "sheet-page.css": ("design.css", "page.css"),
    "share-page.css": ("design.css", "viewer/viewer.css", "viewer/panels.css", "viewer/pages.css"),
    "feedback.css": (
        "viewer/feedback.css",
        "viewer/feedback-forms.css",
        "viewer/feedback-hotspots.css",
        "viewer/feedback-pages.css",
    ),
}

blueprint = Blueprint("assets", __name__)


def _read_files() -> dict[str, bytes]:
    """Return the content of each file by name; the scripts of the viewer are combined, and so are its style sheets."""
    read = {
        f"{prefix}{path.relative_to(root).as_posix()}": path.read_bytes()
        for prefix, root in _ROOTS.items()
        for path in sorted(root.rglob("*"))
        if path.suffix in _TYPES
    }
    modules = {
        name: read.pop(name).decode() for name in list(read) if name.startswith(_VIEWER) and name.endswith(".js")
    }
    outside = {name: content.decode() for name, content in read.items() if name.endswith(".js")}
    imported = {path for name, source in outside.items() for path in bundles.list_imports(name, source)}
    on_use = [_PRINT_SCRIPT, _VISIT_SCRIPT, _TILES_SCRIPT, _SIDEBAR_SCRIPT, _PRESENTATION_SCRIPT]
    others = [_METER_SCRIPT, _FEEDBACK_SCRIPT, *on_use, *map(_mode_script, VIEWER_MODES)]
    scripts = bundles.bundle(modules, _MAIN_SCRIPT, others)
    # Other pages import single modules of the viewer; these import nothing themselves.
    read.update({name: modules[name].encode() for name in imported & modules.keys()})
    read.update({name: script.encode() for name, script in scripts.items()})
    read.update({name: b"".join(read[part] for part in parts) for name, parts in _COMBINED_STYLES.items()})
    return dict(sorted(read.items()))


def _mode_script(mode: str) -> str:
    return f"viewer/modes/{mode}.js"


def _compute_fingerprint(files: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, content in files.items():
        whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]


_FILES = _read_files()
_FINGERPRINT = _compute_fingerprint(_FILES)


def asset_url(name: str) -> str:
    """Return the URL of the static file ``name``, a path below ``static``. Raises KeyError if it does not exist."""
    _FILES[name]
    return f"/static/{_FINGERPRINT}/{name}"


def list_viewer_scripts(mode: str, *, feedback: bool) -> list[str]:
    """Return the URLs of the scripts that the viewer ``mode`` needs, with or without ``feedback``.

    They are loaded at once instead of one after another. Raises KeyError for a mode that does not exist.
    """
    names = [_MAIN_SCRIPT, _mode_script(mode), _METER_SCRIPT, *([_FEEDBACK_SCRIPT] if feedback else [])]
    return [asset_url(name) for name in names]


@blueprint.get("/static/<mark>/<path:name>")
def static(mark: str, name: str) -> Response:
    """Return one static file. A page of an earlier version gets the current file, but must not cache it."""
    if name not in _FILES:
        raise Problem("not_found", "There is no such file.")
    answer = answers.send_static(_load_file(name), _CACHE_FOREVER if mark == _FINGERPRINT else _REVALIDATE)
    return headers.allow_other_origins(answer)  # a page in a sandboxed frame has an origin of its own


@cache
def _load_file(name: str) -> answers.StaticBody:
    """Return the static file ``name``, which is kept in memory, also compressed; all of them have half a megabyte."""
    suffix = Path(name).suffix
    return answers.make_static(_FILES[name], _TYPES[suffix], compress=suffix not in _PRECOMPRESSED)
