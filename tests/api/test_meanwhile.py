"""What changes while a document is received: a plan that ends, a key that is revoked, a file that is destroyed."""

import io
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from werkzeug.datastructures import FileStorage
from werkzeug.test import TestResponse, stream_encode_multipart

from docshare.contract.plans import MB, Plan
from docshare.server.pdf.engine import PdfEngine
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.callers import authenticate
from docshare.server.services.files import claim
from docshare.server.services.files import purge as purging
from tests.support.anonymous_files import share_anonymously
from tests.support.cast import Person, World
from tests.support.pdfs import simple_pdf


def post_document(person: Person, path: str = "/api/v1/files", content: bytes | None = None) -> TestResponse:
    form = {"file": FileStorage(io.BytesIO(content or simple_pdf(pages=1)), "a.pdf")}
    stream, _, boundary = stream_encode_multipart(form, threshold=64 * MB)
    return person.post(path, input_stream=stream, content_type=f'multipart/form-data; boundary="{boundary}"')


def refusal_code(answer: TestResponse) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["code"]


@pytest.fixture
def during_inspection(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something done while the next document is inspected."""

    def arrange(act: Callable[[], object]) -> None:
        inspect = PdfEngine.inspect

        def inspected(self: PdfEngine, *arguments: Any) -> Any:
            monkeypatch.setattr(PdfEngine, "inspect", inspect)
            act()
            return inspect(self, *arguments)

        monkeypatch.setattr(PdfEngine, "inspect", inspected)

    return arrange


def count_stored_files(world: World) -> int:
    return sum(1 for path in world.rt.blobs.root.rglob("*") if path.is_file())


def test_slots_are_those_of_the_plan_at_the_end_of_an_upload(world: World, during_inspection: Any) -> None:
    """Free slots and plan sizes are enforced on upload."""
    for _ in range(3):
        world.bea.upload()
    during_inspection(lambda: accounts.set_tier(world.rt, world.bea.email, Plan.FREE))
    assert refusal_code(post_document(world.bea)) == (403, "forbidden")
    assert count_stored_files(world) == 3


def test_the_size_is_that_of_the_plan_at_the_end_of_an_upload(world: World, during_inspection: Any) -> None:
    during_inspection(lambda: accounts.set_tier(world.rt, world.bea.email, Plan.FREE))
    assert refusal_code(post_document(world.bea, content=simple_pdf(pages=1) + b"%" * (21 * MB))) == (
        413,
        "payload_too_large",
    )
    assert count_stored_files(world) == 0


@pytest.mark.parametrize("replacing", [False, True])
def test_a_key_that_is_revoked_meanwhile_stores_nothing(world: World, during_inspection: Any, replacing: bool) -> None:
    """Keys stop working immediately when revoked."""
    made = world.pia.upload()
    path = f"/api/v1/files/{made['uuid']}/content" if replacing else "/api/v1/files"
    key = accounts.list_keys(world.rt, world.pia.email)[0]["uuid"]
    during_inspection(lambda: accounts.revoke_key(world.rt, key))
    answer = post_document(world.pia, path)
    assert refusal_code(answer) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert count_stored_files(world) == 1


def test_a_replacement_needs_pro_at_its_end_too(world: World, during_inspection: Any) -> None:
    made = world.pia.upload()
    during_inspection(lambda: accounts.set_tier(world.rt, world.pia.email, Plan.BASIC))
    assert refusal_code(post_document(world.pia, f"/api/v1/files/{made['uuid']}/content")) == (403, "plan_required")
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["contentVersion"] == 1


def test_a_claim_for_an_account_that_is_gone_is_401(world: World) -> None:
    file = share_anonymously(world)
    caller = authenticate(world.rt, f"Bearer {world.pia.key}")
    accounts.delete_account(world.rt, world.pia.email)
    with pytest.raises(Exception, match="revoked"):
        claim.claim(world.rt, caller, file.claim_token)


def test_a_file_that_is_being_destroyed_is_404(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hard-deleted, and no trash state that nobody can restore from (sentence 22)."""
    made = world.fay.upload()
    path = f"/api/v1/files/{made['uuid']}"
    seen: list[tuple[int, str]] = []
    purge = purging.purge

    def purged(*arguments: Any) -> int:
        seen.append(refusal_code(world.fay.delete(path)))
        return purge(*arguments)

    monkeypatch.setattr(purging, "purge", purged)
    monkeypatch.setattr(type(world.rt.db), "lock_key", lambda self, key: nullcontext())
    assert world.fay.delete(path).get_json() == {"trashed": False}
    assert seen == [(404, "not_found")]


def test_nothing_of_a_purged_file_is_left_in_the_data_folder(world: World) -> None:
    """Nor is it in the log of the database."""
    world.pia.post("/api/v1/files", data={"file": (io.BytesIO(simple_pdf(pages=1)), "CANARYNAME4711.pdf")})
    made = world.pia.get("/api/v1/files").get_json()[0]
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200
    folder = world.rt.config.data_dir
    assert not [path for path in folder.rglob("*") if path.is_file() and b"CANARYNAME4711" in path.read_bytes()]
