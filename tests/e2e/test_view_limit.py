"""The view limit of a real server, with many readers at once."""

import threading
from pathlib import Path
from typing import Any

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import run_server

READERS = 200
UNITS = 10


def test_a_view_limit_admits_exactly_its_units_of_200_concurrent_readers(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        files = {"file": ("report.pdf", simple_pdf(pages=1))}
        made = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=30).json()
        api = f"{server.url}/api/v1/files/{made['uuid']}"
        limit: dict[str, Any] = {"viewLimit": UNITS}
        assert requests.put(f"{api}/settings", headers=server.headers, json=limit, timeout=30).status_code == 200
        barrier = threading.Barrier(READERS)
        answers: list[tuple[int, int]] = []

        def read() -> None:
            with requests.Session() as browser:
                browser.get(made["shareUrl"], timeout=120)
                barrier.wait(120)
                entered = browser.post(f"{made['shareUrl']}/enter", allow_redirects=False, timeout=120).status_code
                page = browser.get(f"{made['shareUrl']}/text/1.json?v=1", timeout=120).status_code
                answers.append((entered, page))

        threads = [threading.Thread(target=read) for _ in range(READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert sorted(answers) == [(303, 200)] * UNITS + [(410, 410)] * (READERS - UNITS)
        detail = requests.get(api, headers=server.headers, timeout=30).json()
        assert detail["viewsConsumed"] == UNITS
        assert "burnedAt" in detail
