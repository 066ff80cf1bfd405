"""Create ``tests/e2e/fixtures/schema-NN.tar.zst``, the data directory of a released program.

Run ``python -m tests.support.schema_fixture [COMMIT]`` for the last commit of a release (default: ``HEAD``) and commit
the new file; ``tests/e2e/test_upgrade.py`` opens it from then on, and says which schemas need one. NN is the newest
step of the schema in that commit. A fixture that exists is never replaced: its program has been released.
"""

import argparse
import json
import sqlite3
import subprocess
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import requests
import zstandard

from tests.support.documents.pdfs import simple_pdf
from tests.support.people.reader import DESKTOP
from tests.support.people.share_page import parse_facts
from tests.support.repository import ROOT
from tests.support.servers.server_process import ServerProcess, run_server

FIXTURES = ROOT / "tests" / "e2e" / "fixtures"
_PAGE_S = 1.1  # a page counts as seen after one second
_RESERVE = "reserve"  # free space that the next program allocates again
_TIMEOUT_S = 30


def make_fixture(tree: Path, commit: str, folder: Path) -> Path:
    """Run the program below ``tree``, the source of ``commit``, and pack its data directory into ``folder``.

    Return the new file. Raises FileExistsError for a schema that has one.
    """
    with tempfile.TemporaryDirectory() as place:
        # Run the program of the tree, not that of the current folder.
        chosen = {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
        with run_server(Path(place), **chosen) as server:
            stored = {"commit": commit, "apiKey": server.token, **_fill(server)}
        data_dir = Path(place, "data")
        (data_dir / "expected.json").write_text(json.dumps(stored, indent=1) + "\n")
        for name in (_RESERVE, "server.json", "lock"):
            (data_dir / name).unlink(missing_ok=True)
        with closing(sqlite3.connect(data_dir / "docshare.db")) as database:
            ((step,),) = database.execute("PRAGMA user_version")
        target = folder / f"schema-{step:02d}.tar.zst"
        _pack(data_dir, target)
    return target


def _fill(server: ServerProcess) -> dict[str, Any]:
    """Store a document with a variant, a webhook and views; return the data that a later version must find."""
    api = f"{server.url}/api/v1/files"
    made = _send("POST", api, server, files={"file": ("plan.pdf", simple_pdf(pages=3))})
    variant = _send("POST", f"{api}/{made['uuid']}/variants", server, json={"label": "Ada"})
    hook = {"url": "https://93.184.215.14/hook", "events": ["file.viewed"]}
    webhook = _send("POST", f"{server.url}/api/v1/webhooks", server, json=hook)
    _read(f"{server.url}/{made['shortId']}", (1, 2, 3))
    _read(f"{server.url}/{made['shortId']}", (1,), reload=True)
    found = {"uuid": made["uuid"], "shortId": made["shortId"], "variant": variant["shortId"]}
    views = _send("GET", f"{api}/{made['uuid']}", server)["viewCount"]
    return found | {"webhook": (webhook.get("webhook") or webhook)["uuid"], "viewCount": views}


def _send(method: str, url: str, server: ServerProcess, **body: Any) -> dict[str, Any]:
    answer = requests.request(method, url, headers=server.headers, timeout=_TIMEOUT_S, **body)
    assert answer.ok, answer.text
    result: dict[str, Any] = answer.json()
    return result


def _read(link: str, pages: tuple[int, ...], **extra: object) -> None:
    """Open ``link``, read each of ``pages`` for a second, and close it."""
    headers = {"User-Agent": DESKTOP, "Content-Type": "application/json"}
    html = requests.get(link, headers=headers, timeout=_TIMEOUT_S).text
    began, token = time.monotonic(), parse_facts(html)["token"]
    for seq, page in enumerate(pages):
        time.sleep(_PAGE_S)
        is_last = page == pages[-1]
        beacon = {
            "token": token, "part": 0, "seq": seq, "ageMs": round((time.monotonic() - began) * 1000),
            "visible": not is_last, "closing": is_last, "visibleMs": 1_100, "input": True, "turns": int(seq > 0),
            "backTurns": 0, "pages": [{"page": page, "ms": 1_100, "views": 1, "back": 0}], **extra,
        }  # fmt: skip
        answer = requests.post(f"{link}/beacon", data=json.dumps(beacon), headers=headers, timeout=_TIMEOUT_S)
        assert answer.status_code == 204, answer.text


def _pack(data_dir: Path, target: Path) -> None:
    """Write ``data_dir`` to ``target`` in the order of names, without the account of this machine."""
    with (
        target.open("xb") as packed,
        zstandard.ZstdCompressor(level=19).stream_writer(packed) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.GNU_FORMAT) as members,
    ):
        members.add(data_dir, arcname=".", filter=_drop_owner)  # in the order of names


def _drop_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the fixture of the schema of a commit.")
    parser.add_argument("commit", nargs="?", default="HEAD", help="the last commit of a release (default: HEAD)")
    name = parser.parse_args().commit
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short=8", name], check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place, "source.tar")
        subprocess.run([*git, "archive", "--output", str(archive), name, "docshare"], check=True)
        with tarfile.open(archive) as source:
            source.extractall(place, filter="data")
        print(make_fixture(Path(place), commit.stdout.strip(), FIXTURES))


if __name__ == "__main__":
    main()
