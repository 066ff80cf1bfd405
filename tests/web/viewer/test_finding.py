"""Find in the document: where words occur in the pages that a reader sees, and what a reader never finds."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.files import finding, trash
from docshare.server.web.finding import SEARCH_POLICY
from tests.support.documents.hostile_pdfs import memory_bomb_between_words
from tests.support.documents.leaky_pdf import WINDOW, leaky_pdf
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import FakeReader
from tests.support.polling import wait_until

TEXTS = [
    "The harvest was good\nand the barns are full",
    "Café prices rose",
    "No word here",
    "A second HARVEST, and a third harvest",
    "",
]
pytestmark = pytest.mark.file_document(simple_pdf(texts=TEXTS), "Story.pdf")


def search(http: FlaskClient, name: str, words: str, version: str = "1", **more: str) -> TestResponse:
    return http.get(f"/{name}/search", query_string={"q": words, "v": version, **more}, buffered=True)


def read_found(http: FlaskClient, name: str, words: str, version: str = "1", **more: str) -> dict[str, Any]:
    answer = search(http, name, words, version, **more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def read_all(http: FlaskClient, name: str, words: str) -> tuple[list[list[int]], int]:
    """Return the pages and the number of unread pages of a search in as many requests as it needs."""
    pages, unread, start = [], 0, 1
    while start:
        found = read_found(http, name, words, **{"from": str(start)})
        pages, unread, start = pages + found["pages"], unread + found["unread"], found["next"]
    return pages, unread


def purge_file(world: World, made: dict[str, Any]) -> None:
    assert world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200
    trash.purge_any(world.rt, made["uuid"])


def test_a_search_returns_pages_counts_and_contexts(world: World, uploaded_file: dict[str, Any]) -> None:
    assert read_found(world.http, uploaded_file["shortId"], "Harvest") == {
        "count": 3,
        "pages": [[1, 1], [4, 2]],
        "passages": [
            [1, 0, "The ", "harvest", " was good and the barns are full"],
            [4, 0, "A second ", "HARVEST", ", and a third harvest"],
            [4, 1, "A second HARVEST, and a third ", "harvest", ""],
        ],
        "unread": 0,
        "complete": True,
        "next": None,
    }


@pytest.mark.parametrize(
    ("words", "pages"),
    [
        ("cafe", [2]), ("CAFÉ", [2]), ("good and", [1]), (" good\u00a0 and ", [1]),
        ("nothing", []), ("", []), (" ", []),
        ("harvest was good and the barns are full cafe", []),
    ],
)  # fmt: skip
def test_case_accents_and_line_breaks_are_ignored(
    world: World, uploaded_file: dict[str, Any], words: str, pages: list[int]
) -> None:
    found = read_found(world.http, uploaded_file["uuid"], words)
    assert [page for page, _ in found["pages"]] == pages
    assert (found["count"], found["complete"]) == (len(pages), True)


def test_only_the_first_200_of_many_matches_are_listed(world: World) -> None:
    name = world.pia.upload(simple_pdf(texts=["tick " * 10] * 30))["shortId"]
    found = read_found(world.http, name, "tick")
    assert (found["count"], len(found["pages"]), len(found["passages"])) == (300, 30, 200)
    assert found["passages"][-1][:2] == [20, 9]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, 200), ({"v": "2"}, 404), ({"v": ""}, 404), ({"v": "01"}, 404), ({"from": "5"}, 200), ({"from": "6"}, 404),
        ({"from": "0"}, 404), ({"from": "01"}, 404), ({"from": "x"}, 404), ({"q": "x" * 200}, 200),
        ({"q": "x" * 201}, 400),
    ],
)  # fmt: skip
def test_an_invalid_search_is_rejected(
    world: World, uploaded_file: dict[str, Any], more: dict[str, str], status: int
) -> None:
    address = {"q": "harvest", "v": "1", **more}
    answer = world.http.get(f"/{uploaded_file['shortId']}/search", query_string=address, buffered=True)
    assert answer.status_code == status


def test_a_slug_and_a_missing_version_are_404(world: World, uploaded_file: dict[str, Any]) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="the-story")
    assert search(world.http, "the-story", "harvest").status_code == 404
    assert world.http.get(f"/{uploaded_file['shortId']}/search?q=harvest").status_code == 404
    assert search(world.http, uploaded_file["uuid"].upper(), "harvest").status_code == 200


def test_a_search_requires_what_the_gate_requires(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="secret")
    name = uploaded_file["shortId"]
    assert search(world.http, name, "harvest").status_code == 403
    guest = GateClient(world, name)
    assert guest.enter("secret")
    assert guest.get(f"/{name}/search?v=1&q=harvest").get_json()["count"] == 3


def share_leaky_document(world: World) -> tuple[str, str]:
    """Return the name and the version of pages 2 and 3 of the document that has hidden words everywhere."""
    made = world.pia.upload(leaky_pdf()[0])
    put_settings(world, made, pageRange={"from": WINDOW[0], "to": WINDOW[1]})
    return made["shortId"], FakeReader(world, made["shortId"]).facts["version"]


def test_a_reader_never_finds_words_of_hidden_pages(world: World) -> None:
    name, version = share_leaky_document(world)
    kept = read_found(world.http, name, "KEPT", version)
    assert kept["count"] > 0
    assert {page for page, _ in kept["pages"]} <= {1, 2}
    assert "HIDDEN" not in search(world.http, name, "KEPT", version).text
    for words in ("HIDDEN", "hid", *leaky_pdf()[1]):
        found = read_found(world.http, name, words, version)
        assert (found["count"], found["pages"], found["passages"], found["unread"]) == (0, [], [], 0), words
    for page in range(3, 6):
        assert search(world.http, name, "KEPT", version, **{"from": str(page)}).status_code == 404
    assert search(world.http, name, "HIDDEN", "1").status_code == 404


def test_the_cache_of_the_owner_does_not_widen_the_search_of_a_reader(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The text of all pages is stored once, for readers of any range."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 4})
    owner, name = sign_in_browser(world, world.pia), uploaded_file["shortId"]
    assert read_found(owner, name, "harvest")["pages"] == [[1, 1], [4, 2]]
    version = FakeReader(world, name).facts["version"]
    assert read_found(world.http, name, "harvest", version)["pages"] == [[3, 2]]
    assert read_found(world.http, name, "barns", version)["count"] == 0


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks of two pages, and finish a request after each of them."""
    monkeypatch.setattr(finding, "BLOCK_PAGES", 2)
    monkeypatch.setattr(finding, "_BUDGET_S", -1.0)


@pytest.mark.usefixtures("slow")
def test_a_long_search_is_continued_from_the_page_it_returned(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    first = read_found(world.http, name, "harvest")
    assert (first["pages"], first["complete"], first["next"]) == ([[1, 1]], False, 3)
    last = read_found(world.http, name, "harvest", **{"from": "5"})
    assert (last["pages"], last["complete"], last["next"]) == ([], True, None)
    assert read_all(world.http, name, "harvest") == ([[1, 1], [4, 2]], 0)


@pytest.mark.usefixtures("slow")
def test_blocks_are_cut_to_the_range_of_the_reader(world: World, uploaded_file: dict[str, Any]) -> None:
    """Pages 2 to 4 are the second of one block, a whole block, and none of the last."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 4})
    name = uploaded_file["shortId"]
    version = FakeReader(world, name).facts["version"]
    first = read_found(world.http, name, "r", version)
    assert ([page for page, _ in first["pages"]], first["next"]) == ([1], 2)
    second = read_found(world.http, name, "r", version, **{"from": "2"})
    assert ([page for page, _ in second["pages"]], second["next"]) == ([2, 3], None)


@pytest.mark.usefixtures("patient_readers")
def test_a_page_that_crashes_the_engine_is_unread_and_the_others_are_searched(world: World) -> None:
    name = world.pia.upload(memory_bomb_between_words())["shortId"]
    assert read_all(world.http, name, "harmless") == ([[1, 1], [3, 1]], 1)
    found = read_found(world.http, name, "harmless")  # the failure is remembered
    assert (found["pages"], found["unread"], found["complete"]) == ([[1, 1], [3, 1]], 1, True)


def test_a_replaced_document_is_searched_in_its_new_version(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    assert read_found(world.http, name, "harvest")["count"] == 3
    replace_content(world, uploaded_file)
    assert search(world.http, name, "harvest").status_code == 404
    assert read_found(world.http, name, "harvest", "2")["pages"] == [[1, 1]]


def list_cached_texts(world: World) -> list[str]:
    return [str(path) for path in world.rt.config.data_dir.rglob("*.json*") if "1-5" in path.name]


def replace_content(world: World, made: dict[str, Any]) -> None:
    world.pia.replace(made["uuid"], simple_pdf(texts=["A harvest of words"]))


@pytest.mark.parametrize("destroy", [purge_file, replace_content])
def test_the_stored_text_is_encrypted_and_deleted_with_its_version(
    world: World, uploaded_file: dict[str, Any], destroy: Callable[..., None]
) -> None:
    assert read_found(world.http, uploaded_file["shortId"], "harvest")["count"] == 3
    (path,) = list_cached_texts(world)
    assert path.endswith(".sealed")
    with open(path, "rb") as file:
        assert b"harvest" not in file.read()
    destroy(world, uploaded_file)
    assert list_cached_texts(world) == []


def test_searches_are_limited_by_address(world: World, uploaded_file: dict[str, Any]) -> None:
    name = uploaded_file["shortId"]
    for _ in range(SEARCH_POLICY.limit):
        world.rt.limits.hit(SEARCH_POLICY, "198.51.100.4", SEARCH_POLICY.limit)
    here, other = ({"REMOTE_ADDR": address} for address in ("198.51.100.4", "198.51.100.5"))
    refused = world.http.get(f"/{name}/search?v=1&q=harvest", environ_overrides=here)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert world.http.get(f"/{name}/text/1.json?v=1", environ_overrides=here, buffered=True).status_code == 200
    assert world.http.get(f"/{name}/search?v=1&q=harvest", environ_overrides=other).status_code == 200
    world.clock.advance(seconds=61)
    assert world.http.get(f"/{name}/search?v=1&q=harvest", environ_overrides=here).status_code == 200


def test_searches_of_costly_documents_from_many_addresses_leave_two_to_others(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    costly = world.mal.upload(simple_pdf(texts=TEXTS), "Slow.pdf")
    owner = f"account {world.rt.db.fetch_one('SELECT owner_id FROM files WHERE uuid = ?', (costly['uuid'],))[0]}"
    monkeypatch.setattr(world.rt.engine.pool, "is_costly", lambda tenant: tenant.owner == owner)
    gate, running, load = threading.Event(), list[int](), finding._load_block

    def load_slowly(rt: Any, link: Any, *facts: Any) -> finding.PageBlock:
        running.append(link.file.uuid)
        assert gate.wait(30)
        return load(rt, link, *facts)

    def search_from(address: str, name: str) -> int:
        path, sender = f"/{name}/search?v=1&q=harvest", {"REMOTE_ADDR": address}
        return world.app.test_client().get(path, environ_overrides=sender, buffered=True).status_code

    monkeypatch.setattr(finding, "_load_block", load_slowly)
    monkeypatch.setattr(finding, "_SLOT_WAIT_S", 30.0)
    with ThreadPoolExecutor(8) as pool:
        attack = [pool.submit(search_from, f"198.51.100.{last}", costly["shortId"]) for last in range(1, 7)]
        wait_until(lambda: len(running) == 2)
        others = [pool.submit(search_from, f"203.0.113.{last}", uploaded_file["shortId"]) for last in (1, 2)]
        wait_until(lambda: len(running) == 4)
        assert running == [costly["uuid"]] * 2 + [uploaded_file["uuid"]] * 2
        gate.set()
    assert [job.result() for job in [*attack, *others]] == [200] * 8


def test_one_address_runs_at_most_two_searches_and_leaves_two_to_others(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of a long document takes seconds of the process that serves everybody."""
    gate, running, load = threading.Event(), list[str](), finding._load_block

    def load_slowly(*facts: Any) -> finding.PageBlock:
        running.append(facts[-1])
        assert gate.wait(30)
        return load(*facts)

    def search_from(address: str) -> TestResponse:
        path, sender = f"/{uploaded_file['shortId']}/search?v=1&q=harvest", {"REMOTE_ADDR": address}
        return world.app.test_client().get(path, environ_overrides=sender, buffered=True)

    monkeypatch.setattr(finding, "_load_block", load_slowly)
    monkeypatch.setattr(finding, "_SLOT_WAIT_S", 30.0)
    greedy, others = "198.51.100.4", ["198.51.100.5", "198.51.100.6"]
    with ThreadPoolExecutor(11) as pool:
        jobs = [pool.submit(search_from, greedy) for _ in range(9)]
        wait_until(lambda: len(running) == 2 and any(job.done() for job in jobs))
        innocent = [pool.submit(search_from, address) for address in others]
        wait_until(lambda: len(running) == 4)
        gate.set()
    assert (running[:2], sorted(running[2:4])) == ([greedy] * 2, others)
    assert [job.result().status_code for job in innocent] == [200, 200]
    answers = sorted((job.result() for job in jobs), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [200] * 8 + [503]
    assert answers[-1].headers["Retry-After"] == "10"
