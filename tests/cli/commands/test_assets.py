"""``docshare assets add``: local checks, and ``--apply``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, RecordedRequest, problem
from tests.support.shell import Shell

FILE = "aB3dE5fG7hJ9"
ASSET = UUID.format(5)
PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100
JPEG = b"\xff\xd8\xff\xe0" + b"x" * 100
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "
MP3 = b"ID3\x04" + b"x" * 100


@pytest.fixture
def styled_file_api(api: FakeApi) -> FakeApi:
    """Return a file whose share page already has a background and a speed."""
    looks = {"background": {"color": "#112233", "blur": 3}, "flip": {"speedMs": 300}}
    detail: dict[str, Any] = {"uuid": UUID.format(1), "shortId": FILE, "viewerSettings": looks}

    def record_write(heard: RecordedRequest) -> FakeResponse:
        detail.update(json.loads(heard.body))
        return FakeResponse(b"", 200)

    api.on("GET", f"/files/{FILE}", lambda heard: detail)
    api.on("PUT", f"/files/{FILE}/settings", record_write)
    api.on("POST", f"/files/{FILE}/assets", build_asset)
    return api


def build_asset(heard: RecordedRequest) -> dict[str, Any]:
    kind = heard.body.split(b'name="kind"\r\n\r\n')[1].split(b"\r\n")[0].decode()
    return {"assetId": ASSET, "kind": kind, "mimeType": "image/png", "size": 108}


@pytest.fixture
def logo(tmp_path: Path) -> Path:
    path = tmp_path / "logo.png"
    path.write_bytes(PNG)
    return path


def test_a_pipe_gets_the_id_json_the_response_and_a_terminal_one_line(
    styled_file_api: FakeApi, shell: Shell, logo: Path
) -> None:
    line = ("assets", "add", FILE, logo, "--kind", "logo")
    assert shell(*line).out == f"{ASSET}\n"
    assert shell(*line, "--json").json == {"assetId": ASSET, "kind": "logo", "mimeType": "image/png", "size": 108}
    shell.tty = True
    shell.env["NO_COLOR"] = "1"
    assert shell(*line).out == f"logo {ASSET} image/png · 108 B\n"
    assert [heard.method for heard in styled_file_api.requests] == ["POST"] * 3


@pytest.mark.parametrize(
    ("kind", "content", "is_accepted"),
    [
        ("logo", PNG, True),
        ("logo", JPEG, True),
        ("background", WEBP, True),
        ("hotspot-audio", MP3, True),
        ("logo", MP3, False),
        ("hotspot-audio", PNG, False),
        ("logo", b"<svg/>", False),
        ("logo", b"", False),
        ("logo", PNG + b"x" * (5 * 1024 * 1024 - len(PNG)), True),
        ("logo", PNG + b"x" * (5 * 1024 * 1024 - len(PNG) + 1), False),
        ("hotspot-audio", MP3 + b"x" * (10 * 1024 * 1024 - len(MP3)), True),
        ("hotspot-audio", MP3 + b"x" * (10 * 1024 * 1024 - len(MP3) + 1), False),
    ],
)
def test_type_and_size_are_checked_before_the_file_is_sent(
    styled_file_api: FakeApi, shell: Shell, tmp_path: Path, kind: str, content: bytes, is_accepted: bool
) -> None:
    path = tmp_path / "asset.bin"
    path.write_bytes(content)
    assert shell("assets", "add", FILE, path, "--kind", kind).code == (0 if is_accepted else 2)
    assert len(styled_file_api.requests) == (1 if is_accepted else 0)


@pytest.mark.parametrize(
    "options", [["--kind", "icon"], [], ["--kind", "hotspot-audio", "--apply"], ["--kind", "logo", "--apply=x"]]
)
def test_invalid_options_exit_with_2(styled_file_api: FakeApi, shell: Shell, logo: Path, options: list[str]) -> None:
    assert shell("assets", "add", FILE, logo, *options).code == 2
    assert styled_file_api.requests == []


def test_a_missing_file_exits_with_2(styled_file_api: FakeApi, shell: Shell, tmp_path: Path) -> None:
    assert shell("assets", "add", FILE, tmp_path / "none.png", "--kind", "logo").code == 2
    assert shell("assets", "add", FILE, tmp_path, "--kind", "logo").code == 2
    assert styled_file_api.requests == []


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("logo", {"logo": {"assetId": ASSET}}),
        ("background", {"background": {"color": "#112233", "blur": 3, "type": "image", "assetId": ASSET}}),
    ],
)
def test_apply_sets_the_asset_and_preserves_all_other_settings(
    styled_file_api: FakeApi, shell: Shell, logo: Path, kind: str, changed: dict[str, Any]
) -> None:
    done = shell("assets", "add", FILE, logo, "--kind", kind, "--apply", "--json")
    assert (done.code, done.json["applied"]) == (0, True)
    (write,) = styled_file_api.list_requests("PUT", f"/files/{FILE}/settings")
    before = {"background": {"color": "#112233", "blur": 3}, "flip": {"speedMs": 300}}
    assert json.loads(write.body) == {"viewerSettings": before | changed}


def test_an_asset_that_is_stored_but_not_applied_is_reported_with_the_command_that_applies_it(
    styled_file_api: FakeApi, shell: Shell, logo: Path
) -> None:
    styled_file_api.on("PUT", f"/files/{FILE}/settings", problem(410, "gone", "the link is dead"))
    done = shell("assets", "add", FILE, logo, "--kind", "background", "--apply")
    assert (done.code, done.out) == (12, f"{ASSET}\n")
    assert "the link is dead" in done.err
    line = f"docshare settings set {FILE} background.type=image background.assetId={ASSET}"
    assert line in done.err


@pytest.mark.parametrize(
    ("status", "code", "exit"),
    [
        (400, "bad_request", 9),
        (401, "unauthorized", 4),
        (403, "plan_required", 6),
        (404, "not_found", 3),
        (413, "x", 9),
    ],
)
def test_an_error_response_has_its_exit_code(
    styled_file_api: FakeApi, shell: Shell, logo: Path, status: int, code: str, exit: int
) -> None:
    styled_file_api.on("POST", f"/files/{FILE}/assets", problem(status, code))
    done = shell("assets", "add", FILE, logo, "--kind", "logo", "--apply", "--json")
    assert (done.code, done.out, done.error["status"]) == (exit, "", status)
    assert styled_file_api.list_requests("PUT", f"/files/{FILE}/settings") == []


def test_a_dry_run_prints_both_requests_and_sends_none(styled_file_api: FakeApi, shell: Shell, logo: Path) -> None:
    assert shell("assets", "add", FILE, logo, "--kind", "background", "--apply", "-n").lines == [
        f"POST\t/api/v1/files/{FILE}/assets\tkind=background file=logo.png (108 bytes)",
        f"PUT\t/api/v1/files/{FILE}/settings\tbackground.type=image background.assetId={{assetId}}",
    ]
    assert styled_file_api.requests == []
