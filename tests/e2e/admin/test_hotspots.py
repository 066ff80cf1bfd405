"""``docshare admin hotspot``: with and without a running server."""

import json
from pathlib import Path
from typing import Any

import requests

from tests.support.documents.images import make_mp3_frame
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import ServerProcess, run_docshare, run_server

UNKNOWN = "6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10"
PLACE_OPTIONS = ("--page", "2", "--rect", "0.1, 0.2,.3,0.4")


def run_hotspot(env: dict[str, str], *args: str) -> Any:
    done = run_docshare("admin", "hotspot", *args, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def post_file(server: ServerProcess, path: str, name: str, content: bytes, **fields: str) -> dict[str, Any]:
    address = f"{server.url}/api/v1/files{path}"
    answer = requests.post(address, headers=server.headers, files={"file": (name, content)}, data=fields, timeout=20)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_a_hotspot_is_added_listed_and_removed(tmp_path: Path, env: dict[str, str]) -> None:
    """``hotspot add|list|remove`` call a running server, or work in process if none runs; print ``{uuid, ...}``."""
    with run_server(tmp_path) as server:
        file = post_file(server, "", "a.pdf", simple_pdf(pages=3))
        made = run_hotspot(env, "add", file["shortId"], *PLACE_OPTIONS, "--link", "https://example.com/prices")
        assert made.keys() == {"uuid", "fileUuid", "page", "rect", "label", "url", "createdAt"}
        assert (made["fileUuid"], made["page"], made["url"]) == (file["uuid"], 2, "https://example.com/prices")
        assert made["rect"] == {"x": 0.1, "y": 0.2, "width": 0.3, "height": 0.4}
        assert made["label"] == "example.com"
        assert made["uuid"] in requests.get(file["shareUrl"], timeout=10).text
        sound = post_file(server, f"/{file['uuid']}/assets", "a.mp3", make_mp3_frame(1) * 4, kind="hotspot-audio")[
            "assetId"
        ]
    first = run_hotspot(
        env, "add", file["uuid"], "--page", "1", "--rect", "0,0,1,1", "--label", " Hi ", "--audio", sound
    )
    assert first.keys() == {"uuid", "fileUuid", "page", "rect", "label", "assetId", "createdAt"}
    assert (first["label"], first["assetId"]) == ("Hi", sound)
    assert run_hotspot(env, "list", file["uuid"]) == [first, made]
    assert run_hotspot(env, "remove", made["uuid"].upper()) == made
    assert run_hotspot(env, "list", file["shortId"]) == [first]
    listed = run_docshare("admin", "hotspot", "list", file["uuid"], env=env)
    assert listed.stdout.split("\t")[:3] == [first["uuid"], "1", "Hi"]
    removed = run_docshare("admin", "hotspot", "remove", first["uuid"], env=env).stdout.splitlines()
    assert [line.split("\t")[0] for line in removed] == [
        "uuid", "page", "label", "assetId", "rect.x", "rect.y", "rect.width", "rect.height", "fileUuid", "createdAt",
    ]  # fmt: skip


def test_a_file_is_identified_by_its_link_or_as_the_last_upload(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "a.pdf").write_bytes(simple_pdf(pages=3))
    with run_server(tmp_path) as server:
        mine = env | {"DOCSHARE_URL": server.url, "DOCSHARE_TOKEN": server.token}
        assert run_docshare("admin", "hotspot", "list", "@last", env=mine).returncode == 2
        link = run_docshare("upload", str(tmp_path / "a.pdf"), env=mine).stdout.strip()
        made = run_hotspot(mine, "add", "@last", *PLACE_OPTIONS, "--link", "https://example.com/prices")
        assert run_hotspot(mine, "list", link) == [made]


def test_a_url_of_the_maximum_length_reaches_a_running_server(tmp_path: Path, env: dict[str, str]) -> None:
    url = "https://example.com/".ljust(2_048, "x")
    with run_server(tmp_path) as server:
        file = post_file(server, "", "a.pdf", simple_pdf(pages=3))
        assert run_hotspot(env, "add", file["uuid"], *PLACE_OPTIONS, "--link", url)["url"] == url


INVALID_HOTSPOTS = [
    # arguments after the file, exit code, part of the error message
    ([*PLACE_OPTIONS], 2, "either --link or --audio"),
    ([*PLACE_OPTIONS, "--link", "https://a.example", "--audio", UNKNOWN], 2, "either --link or --audio"),
    ([*PLACE_OPTIONS, "--link", "http://a.example"], 9, "link must be"),
    ([*PLACE_OPTIONS, "--link", "javascript:alert(1)"], 9, "link must be"),
    ([*PLACE_OPTIONS, "--link", "https://u:p@a.example"], 9, "link must be"),
    ([*PLACE_OPTIONS, "--audio", UNKNOWN], 9, "not a sound of this file"),
    ([*PLACE_OPTIONS, "--audio", "x"], 9, "audio must be"),
    ([*PLACE_OPTIONS, "--link", "https://a.example", "--label", "x" * 101], 9, "label must be"),
    (["--page", "4", "--rect", "0,0,1,1", "--link", "https://a.example"], 9, "1 to 3"),
    (["--page", "0", "--rect", "0,0,1,1", "--link", "https://a.example"], 9, "1 to 3"),
    (["--page", "1", "--rect", "0,0,1", "--link", "https://a.example"], 9, "X,Y,W,H"),
    (["--page", "1", "--rect", "0,0,1,2", "--link", "https://a.example"], 9, "rect must be"),
    (["--page", "1", "--rect", "0,0,1,nan", "--link", "https://a.example"], 9, "X,Y,W,H"),
    (["--page", "x", "--rect", "0,0,1,1", "--link", "https://a.example"], 2, "--page"),
]


def test_an_invalid_hotspot_is_rejected_without_a_traceback(tmp_path: Path, env: dict[str, str]) -> None:
    with run_server(tmp_path) as server:
        file = post_file(server, "", "a.pdf", simple_pdf(pages=3))["uuid"]
        for arguments, code, words in INVALID_HOTSPOTS:
            done = run_docshare("admin", "hotspot", "add", file, *arguments, env=env)
            assert (done.returncode, done.stdout) == (code, ""), (arguments, done.stderr)
            assert words in done.stderr
            assert "Traceback" not in done.stderr
        for arguments in (["add", UNKNOWN, *PLACE_OPTIONS, "--link", "https://a.example"], ["list", UNKNOWN],
                          ["remove", UNKNOWN], ["remove", "x"]):  # fmt: skip
            done = run_docshare("admin", "hotspot", *arguments, env=env)
            assert done.returncode == 3
            assert "other accounts" not in done.stderr
        assert run_hotspot(env, "list", file) == []
        done = run_docshare("admin", "hotspot", "list", "slug", env=env)
        assert (done.returncode, "UUID, short id, share link, or @last" in done.stderr) == (2, True)
