"""Downloads while a copy is being made, if the owner closes or changes the link meanwhile."""

from collections.abc import Callable
from typing import Any

import pypdfium2
import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World

pytestmark = pytest.mark.file_document(simple_pdf(pages=3), "Plan.pdf")
Change = Callable[[World, dict[str, Any], dict[str, Any]], None]


@pytest.fixture
def variant(world: World, uploaded_file: dict[str, Any]) -> dict[str, Any]:
    """Return a variant of a file whose downloads get a watermark."""
    put_settings(world, uploaded_file, watermark=True)
    made: dict[str, Any] = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    return made


def act_before_copies(world: World, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call ``act`` once, before the first copy of a document is made."""
    make, waiting = world.rt.pages.document, [act]

    def make_later(*request: Any) -> Any:
        while waiting:
            waiting.pop()()
        return make(*request)

    monkeypatch.setattr(world.rt.pages, "document", make_later)


def count_downloads(world: World) -> int:
    return len(world.pia.get("/api/v1/events?type=download").get_json())


def change_settings(**settings: Any) -> Change:
    return lambda world, made, _: put_settings(world, made, **settings)


def revoke_variant(world: World, made: dict[str, Any], variant: dict[str, Any]) -> None:
    path = f"/api/v1/files/{made['uuid']}/variants/{variant['uuid']}"
    assert world.pia.put(path, json={"revoked": True}).status_code == 200


def delete_file(world: World, made: dict[str, Any], _: dict[str, Any]) -> None:
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (revoke_variant, 404),
        (delete_file, 404),
        (change_settings(allowDownload=False), 403),
        (change_settings(password="open sesame"), 303),
        (change_settings(deleteAt="2020-01-01T00:00:00Z"), 410),
    ],
    ids=["revoked", "deleted", "off", "password", "expired"],
)
def test_a_link_that_is_closed_while_the_copy_is_made_is_not_downloaded(
    world: World,
    uploaded_file: dict[str, Any],
    variant: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    status: int,
) -> None:
    """A copy of a long document takes seconds, and the owner has been told that the link is closed."""
    act_before_copies(world, monkeypatch, lambda: change(world, uploaded_file, variant))
    assert world.http.post(f"/{variant['shortId']}/download").status_code == status
    assert count_downloads(world) == 0


def test_a_page_range_that_is_set_while_the_copy_is_made_is_applied(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    page_range = {"from": 2, "to": 2}
    act_before_copies(world, monkeypatch, lambda: put_settings(world, uploaded_file, pageRange=page_range))
    answer = world.http.post(f"/{variant['shortId']}/download", buffered=True)
    assert answer.status_code == 200
    with pypdfium2.PdfDocument(answer.data) as copy:
        assert len(copy) == 1
    assert count_downloads(world) == 1
