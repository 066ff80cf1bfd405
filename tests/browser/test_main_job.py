"""The main job with nothing faked, not even the clock: serve, upload, read in a browser, see it on the terminal."""

import json
import subprocess
from pathlib import Path

from playwright.sync_api import Browser

from tests.support.browsing import desk_settings
from tests.support.pdfs import simple_pdf
from tests.support.served import COMMAND, docshare, home, start


def read_three_pages(browser: Browser, link: str) -> None:
    """Open the link as a person would, spend two seconds on each of three pages, and close it."""
    page = browser.new_context(**desk_settings()).new_page()
    page.goto(link)
    for _ in range(2):
        page.wait_for_timeout(2000)
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(2500)
    page.close(run_before_unload=True)


def test_somebody_reads_and_the_terminal_says_so(browser: Browser, tmp_path: Path) -> None:
    env = home(tmp_path)
    (tmp_path / "report.pdf").write_bytes(simple_pdf(pages=3))
    process, url = start("--port", "0", env=env)
    try:
        link = docshare("upload", str(tmp_path / "report.pdf"), env=env).stdout.strip()
        assert link.startswith(f"{url}/")
        tail = subprocess.Popen(
            [*COMMAND, "events", "tail", "--from", "start", "--count", "1", "--timeout", "3m", "--json"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        read_three_pages(browser, link)
        out, errors = tail.communicate(timeout=200)
        listed = json.loads(docshare("files", "list", "--json", env=env).stdout)
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert tail.returncode == 0, errors
    (row,) = [json.loads(line) for line in out.splitlines()]
    assert (row["id"], row["type"], row["fileName"], row["pagesViewed"]) == (2, "view", "report.pdf", 3)
    assert 4000 <= row["timeMs"] <= 12_000
    assert listed[0]["viewCount"] == 1
