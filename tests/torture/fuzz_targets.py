"""Parsers of untrusted input as functions of bytes that raise on errors.

``decode`` turns bytes into a JSON value, so the targets work with random bytes and with a guided fuzzer.
"""

import atexit
import csv
import io
import ipaddress
import itertools
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from flask.testing import FlaskClient
from werkzeug.http import parse_options_header

from docshare.contract import streams
from docshare.contract.names import MAX_BYTES, clean_name
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_settings
from docshare.contract.viewer import normalize
from docshare.server.api import csv_answers
from docshare.server.http.headers import content_disposition
from docshare.server.http.multipart import FormError, FormParser
from docshare.server.pdf.engine import PdfEngine
from docshare.server.rules import webhook_url
from docshare.server.store.blobs import FolderStore
from tests.contract.settings_table import DEFAULT_LOOKS

_NONE_ALLOWED = webhook_url.AllowedHosts(frozenset(), ())
_WORDS = [
    *SETTINGS,
    *DEFAULT_LOOKS,
    *itertools.chain.from_iterable(DEFAULT_LOOKS.values()),
    "from",
    "to",
    "label",
    "url",
]
_SCALARS: list[Any] = [None, True, False, 0, -1, 1.5, 10**20, float("nan"), float("inf"), "", "#ffffff", "pro", "\0"]


def decode(data: bytes, depth: int = 0) -> tuple[Any, bytes]:
    """Decode the start of ``data`` to a JSON value; return the value and the rest of ``data``."""
    if not data or depth > 4:
        return None, b""
    kind, data = data[0], data[1:]
    if kind < 60:
        return _SCALARS[kind % len(_SCALARS)], data
    if kind < 120:
        length = kind % 24
        return data[:length].decode("utf-8", "replace"), data[length:]
    if kind < 150:
        return int.from_bytes(data[:5], "big", signed=True), data[5:]
    if kind < 180:
        items: list[Any] = []
        for _ in range(kind % 5):
            item, data = decode(data, depth + 1)
            items.append(item)
        return items, data
    entries: dict[str, Any] = {}
    for _ in range(1 + kind % 5):
        if data:
            word, data = _WORDS[data[0] % len(_WORDS)], data[1:]
            entries[word], data = decode(data, depth + 1)
    return entries, data


def _make_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="docshare-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _make_blobs() -> FolderStore:
    folder, numbers = _make_folder(), itertools.count()
    return FolderStore(folder / "blobs", folder / "tmp", lambda: f"part{next(numbers):016d}")


def multipart_name(data: bytes) -> None:
    head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename='
    parser = FormParser(b"edge", _make_blobs().create_partial, 1_000)
    try:
        parser.feed(head + data + b"\r\n\r\nx\r\n--edge--\r\n")
        form = parser.finish()
    except FormError:
        return
    finally:
        parser.discard()
    for file in form.files.values():
        name = clean_name(file.filename)
        assert name
        assert len(name.encode()) <= MAX_BYTES
        assert not set(name) & set("/\\\r\n\0")


def settings(data: bytes) -> None:
    try:
        parse_settings(decode(data)[0])
    except Problem as problem:
        if problem.status >= 500:
            raise


def viewer_settings(data: bytes) -> None:
    try:
        once = normalize(decode(data)[0])
    except Problem as problem:
        if problem.status >= 500:
            raise
        return
    assert normalize(once) == once, "stored settings are not normalized"


def url_rule(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for url in (text, f"https://{text}"):
        try:
            target, permit = webhook_url.vet_url(url, _NONE_ALLOWED)
        except Problem as problem:
            if problem.status >= 500:
                raise
            continue
        assert url.lower().startswith("https:")
        assert "@" not in url
        try:
            address = ipaddress.ip_address(target.host.strip("[]"))
        except ValueError:
            continue
        assert address.is_global, f"{url!r} resolves to {address}"
        assert permit(address)


@cache
def _make_visitor() -> FlaskClient:
    from tests.support.clock import FakeClock
    from tests.support.people.cast import make_runtime, make_world

    clock = FakeClock()
    engine = PdfEngine(workers=1)
    atexit.register(engine.close)
    runtime = make_runtime(_make_folder(), clock, engine)
    return make_world(runtime, clock).http


def id_router(data: bytes) -> None:
    name = quote(data, safe="/:;,.~-_")
    address = {"REMOTE_ADDR": str(ipaddress.ip_address(0x0A000000 + hash(data) % (1 << 24)))}
    for path in (f"/{name}", f"/embed/{name}", f"/api/files/{name}/metadata", f"/{name}/pages/1-800.jpg"):
        # As the listener does: the client of Flask would take the start of a path with two slashes for a host.
        place = {"PATH_INFO": unquote_to_bytes(path).decode("latin-1"), "REQUEST_URI": path}
        answer = _make_visitor().get("/", environ_overrides=address | place, buffered=True)
        assert answer.status_code < 500, f"{answer.status_code} for {path}"


def since_and_limit(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for largest in (streams.INT32_MAX, streams.INT64_MAX):
        assert 0 <= streams.parse_since(text, largest) <= largest
    assert 1 <= streams.parse_limit(text) <= 100


def csv_sheet(data: bytes) -> None:
    cells = data.decode("utf-8", "replace").split("|")
    answer = csv_answers.csv_response("a.csv", ["cell"] * len(cells), [cells])
    text = answer.get_data().decode("utf-8")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == 2, "a cell ends its row"
    assert len(rows[1]) == len(cells)
    for cell, exported in zip(cells, rows[1], strict=True):
        assert exported in (cell, f"'{cell}")
        assert not exported.startswith(tuple("=+-@\t\r\n\0＝＋－＠"))


def disposition(data: bytes) -> None:
    name = clean_name(data.decode("utf-8", "replace"))
    header = content_disposition("inline", name)
    header.encode("latin-1")
    assert header.isprintable()
    kind, parameters = parse_options_header(header)
    assert kind == "inline"
    assert parameters["filename"] == name


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        multipart_name,
        settings,
        viewer_settings,
        url_rule,
        id_router,
        since_and_limit,
        csv_sheet,
        disposition,
    )
}
