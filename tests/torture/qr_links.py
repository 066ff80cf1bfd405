"""Decode the QR codes of many links with two independent decoders, zbar and zxing.

``python -m tests.torture.qr_links [LINKS]`` checks 500 links by default. Requires the Debian package ``zbar-tools``.
Exits with 1 if a code does not contain the link by short ID with ``?via=qr``, is larger than 20 kB, or takes more than
50 ms; the short form does not judge the time.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import zxingcpp
from PIL import Image

from docshare.server.pdf.engine import PdfEngine
from tests.support.clock import FakeClock
from tests.support.owner.browser import put_settings
from tests.support.people.cast import BASE_URL, World, close_world, make_runtime, make_world

MOST_BYTES = 20_000
_MOST_MS = 50.0
_LINKS = 500


@dataclass
class QrFigures:
    links: int = 0
    exact: dict[str, int] = field(default_factory=lambda: {"zbar": 0, "zxing": 0})
    largest_bytes: int = 0
    slowest_ms: float = 0
    problems: list[str] = field(default_factory=list)


def decode_with_zbar(paths: list[Path]) -> list[str]:
    """Return the text that zbar decodes from each picture, in order, in a single process."""
    program = shutil.which("zbarimg")
    assert program is not None, "zbarimg is needed (Debian package zbar-tools)"
    command = [program, "--raw", "-q", "-Sdisable", "-Sqrcode.enable", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False).stdout.splitlines()


def decode_with_zxing(path: Path) -> str:
    """Return the text of the only code that zxing finds in the picture, or "" if it finds none or several."""
    found = zxingcpp.read_barcodes(Image.open(BytesIO(path.read_bytes())))
    return found[0].text if len(found) == 1 else ""


def check_links(world: World, folder: Path, links: int) -> QrFigures:
    """Request the codes of ``links`` links by UUID and by short ID; every other link has a slug."""
    figures, expected, paths = QrFigures(), [], []
    for number in range(links):
        uploaded = world.pia.upload()
        if number % 2:
            put_settings(world, uploaded, slug=f"report-{number}")
        name = uploaded["uuid"] if number % 3 else uploaded["shortId"]
        began = time.perf_counter()
        if number % 4 < 2:
            answer = world.pia.get(f"/api/v1/files/{name}/qr-code")
        else:
            answer = world.http.get(
                f"/api/files/{name}/qr-code", environ_overrides={"REMOTE_ADDR": f"10.0.{number >> 8}.{number & 255}"}
            )
        figures.slowest_ms = max(figures.slowest_ms, (time.perf_counter() - began) * 1000)
        figures.largest_bytes = max(figures.largest_bytes, len(answer.data))
        paths.append(folder / f"{number:05}.png")
        paths[-1].write_bytes(answer.data)
        expected.append(f"{BASE_URL}/{uploaded['shortId']}?via=qr")
        world.clock.advance(seconds=10)
    figures.links = links
    for decoder, texts in (("zbar", decode_with_zbar(paths)), ("zxing", [decode_with_zxing(path) for path in paths])):
        figures.exact[decoder] = sum(map(str.__eq__, texts, expected))
        if texts != expected:
            figures.problems.append(f"{decoder} reads {figures.exact[decoder]} of {links} links exactly")
    if figures.largest_bytes > MOST_BYTES:
        figures.problems.append(f"a code has {figures.largest_bytes} bytes")
    return figures


@contextmanager
def _open_world() -> Iterator[tuple[World, Path]]:
    engine, clock = PdfEngine(workers=1), FakeClock()
    with tempfile.TemporaryDirectory(prefix="docshare-qr-", ignore_cleanup_errors=True) as folder:
        world = make_world(make_runtime(Path(folder) / "data", clock, engine), clock)
        try:
            yield world, Path(folder)
        finally:
            close_world(world)
            engine.close()


def main(links: int = _LINKS) -> int:
    """Check the codes, print the results, and return the exit code."""
    with _open_world() as (world, folder):
        figures = check_links(world, folder, links)
    if figures.slowest_ms > _MOST_MS:
        figures.problems.append(f"the slowest code took {figures.slowest_ms:.1f} ms")
    read = ", ".join(f"{decoder} {exact}/{links}" for decoder, exact in figures.exact.items())
    print(f"exact by {read}; largest {figures.largest_bytes} bytes, slowest {figures.slowest_ms:.1f} ms")
    print(f"{len(figures.problems)} errors", *figures.problems, sep="\n  ")
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
