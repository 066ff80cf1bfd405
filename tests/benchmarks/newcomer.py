"""Measure how long a newcomer waits: install the package, share a document, see that page 3 was read.

Run: ``python -m tests.benchmarks.newcomer``. Installs the wheel into an empty environment, with pip and from its cache,
runs ``docshare serve FILE``, reads the document in Chromium, closes the tab, and waits until ``docshare wait`` reports
the reader. The processor time of the installation counts, because it does not depend on the network. The server waits
10 s for further reports after a tab is closed. Exits with 1 if a target is missed.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from playwright.sync_api import sync_playwright

from tests.benchmarks.comparison import SMALLEST, check_bound
from tests.support.browsers.browser import Visitor, desktop_options, launch, read_to_page_three
from tests.support.documents.pdfs import simple_pdf
from tests.support.package import build_package, run_outside
from tests.support.servers.server_process import make_env


def install(wheel: Path, folder: Path) -> float:
    """Install ``wheel`` and its dependencies into a new environment at ``folder``; return the processor time of all
    processes, in seconds."""
    before = _read_processor_s_of_children()
    run_outside(sys.executable, "-m", "venv", str(folder))
    run_outside(str(folder / "bin" / "pip"), "install", "--quiet", str(wheel))
    return _read_processor_s_of_children() - before


def _read_processor_s_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


@contextmanager
def start_program(*command: str, env: dict[str, str], cwd: Path) -> Iterator[IO[str]]:
    """Run ``command`` until the end of the block; yield its standard output."""
    with subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.terminate()


def measure_reading(program: str, home: Path) -> tuple[float, float]:
    """Share a document and read it. Return the seconds from the start of the server to the link, and those from closing
    the tab to the report of the reader."""
    env = make_env(home)
    (home / "report.pdf").write_bytes(simple_pdf(pages=5))
    begun = time.monotonic()
    with start_program(program, "serve", "report.pdf", "--port", "0", env=env, cwd=home) as server:
        _, link = server.readline(), server.readline().strip()
        link_s = time.monotonic() - begun
        waiting = (program, "wait", "@last", "--page", "3", "--timeout", "2m")
        with start_program(*waiting, env=env, cwd=home) as waiter, sync_playwright() as playwright:
            browser = launch(playwright)
            context = browser.new_context(**desktop_options())
            read_to_page_three(Visitor(context, context.new_page()), link)
            closed = time.monotonic()
            row = waiter.readline()
            report_s = time.monotonic() - closed
            browser.close()
    if '"page":3,' not in row:
        raise SystemExit(f"docshare wait does not report that page 3 was read: {row!r}")
    return link_s, report_s


def main() -> int:
    """Measure, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (wheel,) = build_package(root, "-t", "wheel").glob("*.whl")
        if not SMALLEST:
            install(wheel, root / "first")  # fills the cache of pip
        install_s = install(wheel, root / "environment")
        home = root / "home"
        home.mkdir()
        link_s, report_s = measure_reading(str(root / "environment" / "bin" / "docshare"), home)
    reached = [
        check_bound("installation into an empty environment, processor time", install_s, 40, "s"),
        check_bound("docshare serve FILE, to the link", link_s, 5, "s"),
        check_bound("closed tab, to the report that page 3 was read", report_s, 15, "s"),
    ]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
