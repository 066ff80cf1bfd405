"""Changes during an upload: the plan changes, the key is revoked, the file is deleted."""

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
from docshare.server.store.tables import sign_in as sign_in_rows
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import sign_in_browser
from tests.support.owner.forms import find_csrf_token
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import Person, World


def post_document(person: Person, path: str = "/api/v1/files", content: bytes | None = None) -> TestResponse:
    form = {"file": FileStorage(io.BytesIO(content or simple_pdf(pages=1)), "a.pdf")}
    stream, _, boundary = stream_encode_multipart(form, threshold=64 * MB)
    return person.post(path, input_stream=stream, content_type=f'multipart/form-data; boundary="{boundary}"')


def get_status_and_code(answer: TestResponse) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["code"]


@pytest.fixture
def during_inspection(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that schedules an action to run while the next document is inspected."""

    def schedule(act: Callable[[], object]) -> None:
        inspect = PdfEngine.inspect

        def act_and_inspect(self: PdfEngine, *arguments: Any) -> Any:
            monkeypatch.setattr(PdfEngine, "inspect", inspect)
            act()
            return inspect(self, *arguments)

        monkeypatch.setattr(PdfEngine, "inspect", act_and_inspect)

    return schedule


def sign_out_everywhere(world: World) -> None:
    ((account_id,),) = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = ?", (world.mal.email,))
    with world.rt.db.write():
        sign_in_rows.delete_sessions(world.rt.db, account_id)


def disable_account(world: World) -> None:
    accounts.disable(world.rt, world.mal.email)


def delete_account(world: World) -> None:
    accounts.delete_account(world.rt, world.mal.email)


def count_stored_files(world: World) -> int:
    return sum(1 for path in world.rt.blobs.root.rglob("*") if path.is_file())


def test_the_file_limit_of_the_plan_at_the_end_of_an_upload_applies(world: World, during_inspection: Any) -> None:
    """The account was downgraded to Free during the upload."""
    for _ in range(3):
        world.bea.upload()
    during_inspection(lambda: accounts.set_tier(world.rt, world.bea.email, Plan.FREE))
    assert get_status_and_code(post_document(world.bea)) == (403, "forbidden")
    assert count_stored_files(world) == 3


def test_the_size_limit_of_the_plan_at_the_end_of_an_upload_applies(world: World, during_inspection: Any) -> None:
    during_inspection(lambda: accounts.set_tier(world.rt, world.bea.email, Plan.FREE))
    assert get_status_and_code(post_document(world.bea, content=simple_pdf(pages=1) + b"%" * (21 * MB))) == (
        413,
        "payload_too_large",
    )
    assert count_stored_files(world) == 0


@pytest.mark.parametrize("replacing", [False, True])
def test_a_key_that_is_revoked_during_an_upload_stores_nothing(
    world: World, during_inspection: Any, replacing: bool
) -> None:
    """The key is checked again at the end of the upload."""
    made = world.pia.upload()
    path = f"/api/v1/files/{made['uuid']}/content" if replacing else "/api/v1/files"
    key = accounts.list_keys(world.rt, world.pia.email)[0]["uuid"]
    during_inspection(lambda: accounts.revoke_key(world.rt, key))
    answer = post_document(world.pia, path)
    assert get_status_and_code(answer) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert count_stored_files(world) == 1


@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("act", [sign_out_everywhere, disable_account, delete_account])
def test_a_browser_that_is_signed_out_during_an_upload_stores_nothing(
    world: World, during_inspection: Any, act: Callable[[World], object], replacing: bool
) -> None:
    """Somebody else may have used that browser."""
    made = world.mal.upload()
    http = sign_in_browser(world, world.mal)
    headers = {"X-CSRF-Token": find_csrf_token(http.get("/login").text)}
    path = f"/api/account/files/{made['uuid']}/content" if replacing else "/api/account/files"
    during_inspection(lambda: act(world))
    answer = http.post(path, headers=headers, data={"file": (io.BytesIO(simple_pdf(pages=2)), "plan.pdf")})
    assert get_status_and_code(answer) == (401, "unauthorized")
    assert count_stored_files(world) == (0 if act is delete_account else 1)
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM files WHERE content_version > 1") == [(0,)]


def test_the_limits_of_the_plan_at_the_end_of_an_upload_by_a_browser_apply(
    world: World, during_inspection: Any
) -> None:
    for _ in range(3):
        world.bea.upload()
    http = sign_in_browser(world, world.bea)
    headers = {"X-CSRF-Token": find_csrf_token(http.get("/login").text)}
    during_inspection(lambda: accounts.set_tier(world.rt, world.bea.email, Plan.FREE))
    data = {"file": (io.BytesIO(simple_pdf(pages=2)), "plan.pdf")}
    answer = http.post("/api/account/files", headers=headers, data=data)
    assert get_status_and_code(answer) == (403, "forbidden")
    assert count_stored_files(world) == 3


def test_a_replacement_requires_the_pro_plan_at_its_end(world: World, during_inspection: Any) -> None:
    made = world.pia.upload()
    during_inspection(lambda: accounts.set_tier(world.rt, world.pia.email, Plan.BASIC))
    assert get_status_and_code(post_document(world.pia, f"/api/v1/files/{made['uuid']}/content")) == (
        403,
        "plan_required",
    )
    assert world.pia.get(f"/api/v1/files/{made['uuid']}").get_json()["contentVersion"] == 1


def test_a_claim_for_a_deleted_account_is_401(world: World) -> None:
    file = share_anonymously(world)
    caller = authenticate(world.rt, f"Bearer {world.pia.key}")
    accounts.delete_account(world.rt, world.pia.email)
    with pytest.raises(Exception, match="revoked"):
        claim.claim(world.rt, caller, file.claim_token)


def test_a_file_that_is_being_purged_is_404(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Free a deleted file is never in the trash, not even while it is being purged."""
    made = world.fay.upload()
    path = f"/api/v1/files/{made['uuid']}"
    seen: list[tuple[int, str]] = []
    purge = purging.purge

    def delete_and_purge(*arguments: Any) -> int:
        seen.append(get_status_and_code(world.fay.delete(path)))
        return purge(*arguments)

    monkeypatch.setattr(purging, "purge", delete_and_purge)
    monkeypatch.setattr(type(world.rt.db), "lock_key", lambda self, *keys: nullcontext())
    assert world.fay.delete(path).get_json() == {"trashed": False}
    assert seen == [(404, "not_found")]


def test_a_purged_file_leaves_no_data_in_the_data_folder(world: World) -> None:
    """This includes the log of the database."""
    world.pia.post("/api/v1/files", data={"file": (io.BytesIO(simple_pdf(pages=1)), "CANARYNAME4711.pdf")})
    made = world.pia.get("/api/v1/files").get_json()[0]
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200
    folder = world.rt.config.data_dir
    assert not [path for path in folder.rglob("*") if path.is_file() and b"CANARYNAME4711" in path.read_bytes()]
