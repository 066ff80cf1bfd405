"""QR codes."""

import shutil
import subprocess

import pytest

from docshare.server.api import qr
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World


def decode_qr(png: bytes) -> str:
    """Decode the QR code with an independent program."""
    program = shutil.which("zbarimg")
    if program is None:
        pytest.fail("zbarimg is needed (Debian package zbar-tools)")
    done = subprocess.run([program, "--raw", "-q", "-"], input=png, capture_output=True, timeout=20, check=True)
    return done.stdout.decode().strip()


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
def test_both_routes_return_the_same_code_of_the_short_id(world: World, shape: str) -> None:
    """The code has the short id and ``?via=qr`` even if the file has a slug."""
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="my-report")
    own = world.pia.get(f"/api/v1/files/{made[shape]}/qr-code")
    public = world.http.get(f"/api/files/{made[shape]}/qr-code")
    assert own.status_code == public.status_code == 200
    assert own.headers["Content-Type"] == public.headers["Content-Type"] == "image/png"
    assert own.data == public.data
    assert decode_qr(own.data) == f"http://127.0.0.1:8787/{made['shortId']}?via=qr"
    assert len(own.data) <= 20 * 1024


def test_only_the_public_route_works_without_a_credential(world: World) -> None:
    """The route under v1 requires a credential of the owner."""
    made = world.pia.upload()
    assert world.http.get(f"/api/v1/files/{made['shortId']}/qr-code").status_code == 401
    assert world.mal.get(f"/api/v1/files/{made['shortId']}/qr-code").status_code == 404
    assert world.http.get(f"/api/files/{made['shortId']}/qr-code").status_code == 200


@pytest.mark.parametrize("name", [UNKNOWN_UUID, "abcdefghijkl", "nope", "%00", "a b", "x" * 2000])
def test_an_unknown_link_has_no_code(world: World, name: str) -> None:
    for path in (f"/api/files/{name}/qr-code", f"/api/v1/files/{name}/qr-code"):
        answer = world.http.get(path, headers=world.pia.headers)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_code_is_rendered_once(world: World) -> None:
    short_id = world.pia.upload()["shortId"]
    before = qr._render_png.cache_info().misses
    for _ in range(3):
        world.http.get(f"/api/files/{short_id}/qr-code")
    assert qr._render_png.cache_info().misses == before + 1


def test_a_code_request_is_not_a_view(world: World) -> None:
    """The same applies to a HEAD request of the link."""
    made = world.pia.upload()
    world.http.get(f"/api/files/{made['shortId']}/qr-code")
    world.http.head(f"/{made['shortId']}")
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["viewCount"] == 0
