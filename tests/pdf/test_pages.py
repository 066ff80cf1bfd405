"""The store of page images and texts: files are created once, limited in size, and deleted with their document."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from docshare.contract.problems import Problem
from docshare.server.pdf import derived_files
from docshare.server.pdf import pages as page_store
from docshare.server.pdf.answers import PageText
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.engine import PdfEngine, UnrenderableError, WatermarkText
from docshare.server.pdf.failures import PageFailures
from docshare.server.pdf.keys import DerivedKey
from docshare.server.pdf.pages import PageStore
from docshare.server.rules.finding import UNREAD_PAGE, parse_block
from tests.support.documents import pdfs
from tests.support.documents.hostile_pdfs import paced_pages
from tests.support.polling import wait_until

Put = Callable[..., Path]
FILE, OTHER = "5e1f6a52-5d55-4f0f-9c8f-0d2f7f0c1a11", "77777777-5d55-4f0f-9c8f-0d2f7f0c1a11"


class CountingEngine(PdfEngine):
    """A real engine that records the requested pages. A closed ``gate`` delays jobs."""

    def __init__(self, *, workers: int = 2, timeout_s: float = 10.0) -> None:
        super().__init__(workers=workers, timeout_s=timeout_s)
        self.requested: list[int] = []
        self.ahead: list[int] = []
        self.gate = threading.Event()
        self.gate.set()

    def render(
        self, path: Path, page: int, width: int, mark: WatermarkText | None = None, tenant: Tenant | None = None
    ) -> bytes:
        self.requested.append(page)
        self.gate.wait(10)
        return super().render(path, page, width, mark, tenant)

    def render_if_spare(
        self, path: Path, page: int, width: int, mark: WatermarkText | None = None, tenant: Tenant | None = None
    ) -> bytes | None:
        self.gate.wait(10)
        data = super().render_if_spare(path, page, width, mark, tenant)
        if data is not None:
            self.ahead.append(page)
        return data

    def text(self, path: Path, page: int, tenant: Tenant | None = None) -> PageText:
        self.requested.append(page)
        return super().text(path, page, tenant)


@pytest.fixture(scope="module")
def shared_engine() -> Iterator[CountingEngine]:
    with closing(CountingEngine()) as engine:
        yield engine


@pytest.fixture
def counting_engine(shared_engine: CountingEngine) -> CountingEngine:
    shared_engine.requested.clear()
    shared_engine.ahead.clear()
    return shared_engine


@pytest.fixture
def store(counting_engine: CountingEngine, tmp_path: Path) -> Iterator[PageStore]:
    with closing(PageStore(counting_engine, tmp_path / "cache")) as pages:
        yield pages


def list_files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_a_page_is_rendered_once_for_twenty_concurrent_readers(
    store: PageStore, counting_engine: CountingEngine, write_file: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived_files, "_SLOW_BUILD_S", 60.0)  # so that no page counts as slow on a busy machine
    blob = write_file(pdfs.simple_pdf(1))
    together = threading.Barrier(20)

    def read() -> bytes:
        together.wait()
        return store.image(FILE, 1, blob, 1, 800).read_bytes()

    with ThreadPoolExecutor(20) as pool:
        images = {job.result() for job in [pool.submit(read) for _ in range(20)]}
    assert counting_engine.requested == [1]
    assert len(images) == 1
    assert images.pop().startswith(b"\xff\xd8")


def test_a_second_request_does_not_render_again(
    store: PageStore, counting_engine: CountingEngine, write_file: Put
) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    assert store.image(FILE, 1, blob, 1, 800) == store.image(FILE, 1, blob, 1, 800)
    assert counting_engine.requested == [1]


def test_images_differ_by_width_version_page_and_file(
    store: PageStore, counting_engine: CountingEngine, write_file: Put
) -> None:
    blob = write_file(pdfs.simple_pdf(3))
    keys = [(FILE, 1, 3, 800), (FILE, 1, 3, 1600), (FILE, 2, 3, 800), (OTHER, 1, 3, 800), (FILE, 1, 1, 800)]
    assert len({store.image(file, version, blob, page, width) for file, version, page, width in keys}) == 5
    assert len(counting_engine.requested) == 5


def test_text_is_extracted_once_as_json(store: PageStore, counting_engine: CountingEngine, write_file: Put) -> None:
    blob = write_file(pdfs.linked_pdf())
    document = json.loads(store.text(FILE, 1, blob, 1).read_bytes())
    store.text(FILE, 1, blob, 1)
    assert counting_engine.requested == [1]
    assert (document["width"], document["height"]) == (612, 792)
    assert document["boxes"][1][4:] == ["or mail team@example.org"]
    assert document["links"][1][4] == {"page": 3}


def test_pages_that_take_long_to_read_end_the_reading_of_a_block(
    store: PageStore, counting_engine: CountingEngine, write_file: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def read_one(path: Path, first: int, last: int, tenant: Tenant | None = None) -> list[str]:
        now[0] += 2.0
        return [f"page {first}"]

    monkeypatch.setattr(counting_engine, "texts", read_one)
    monkeypatch.setattr(page_store.time, "monotonic", lambda: now[0])
    block = parse_block(store.texts(FILE, 1, write_file(pdfs.simple_pdf(1)), 1, 64).read_bytes())
    assert block.texts == ["page 1", "page 2", "page 3"] + [UNREAD_PAGE] * 61


def test_no_other_width_is_made(store: PageStore, write_file: Put) -> None:
    with pytest.raises(ValueError, match="cannot be 801 pixels wide"):
        store.image(FILE, 1, write_file(pdfs.simple_pdf(1)), 1, 801)


def test_a_file_id_cannot_leave_the_folder(store: PageStore, write_file: Put) -> None:
    for name in ("..", "../x", "a/b", "", ".", "a\n"):
        with pytest.raises(ValueError, match="file id"):
            store.image(name, 1, write_file(pdfs.simple_pdf(1)), 1, 800)
        with pytest.raises(ValueError, match="file id"):
            store.files.delete_derived(name)


def test_the_next_page_is_rendered_ahead(store: PageStore, counting_engine: CountingEngine, write_file: Put) -> None:
    blob = write_file(pdfs.simple_pdf(3))
    store.image(FILE, 1, blob, 1, 800)
    wait_until(lambda: counting_engine.ahead == [2])
    store.image(FILE, 1, blob, 2, 800)
    wait_until(lambda: counting_engine.ahead == [2, 3])
    assert counting_engine.requested == [1]


def test_rendering_ahead_ends_with_the_last_page(
    store: PageStore, counting_engine: CountingEngine, write_file: Put
) -> None:
    blob = write_file(pdfs.simple_pdf(2))
    store.image(FILE, 1, blob, 2, 800)
    store.image(OTHER, 1, blob, 1, 800)
    wait_until(lambda: counting_engine.ahead == [2])


def test_a_reader_does_not_wait_for_pages_rendered_ahead(write_file: Put, tmp_path: Path) -> None:
    blob = write_file(paced_pages("fsff"))
    with closing(CountingEngine(timeout_s=600.0)) as engine, closing(PageStore(engine, tmp_path / "cache")) as store:
        store.image(FILE, 1, blob, 1, 800)
        wait_until(lambda: not engine.pool.wait_for_spare(0))  # page 2 stalls a worker
        for page in (3, 4):
            store.image(FILE, 1, blob, page, 800)
        assert not engine.pool.wait_for_spare(0)  # and still does
        assert engine.requested == [1, 3, 4]


def test_the_least_recently_used_file_is_evicted(
    counting_engine: CountingEngine, write_file: Put, tmp_path: Path
) -> None:
    blob = write_file(pdfs.many_pages_pdf(12, lines=20))
    root = tmp_path / "cache"
    with closing(PageStore(counting_engine, root)) as store:
        size = Path(store.image(FILE, 1, blob, 12, 800)).stat().st_size
        store.files.delete_derived(FILE)
    limit = 3 * size + size // 2
    with closing(PageStore(counting_engine, root, max_bytes=limit)) as store:
        for file in ("a", "b", "c"):
            store.image(file, 1, blob, 12, 800)
        store.image("a", 1, blob, 12, 800)
        store.image("d", 1, blob, 12, 800)
        assert list_files(root) == ["a/1/12-800.jpg", "c/1/12-800.jpg", "d/1/12-800.jpg"]
        assert not (root / "b").exists()
        for file in range(10):
            store.image(str(file), 1, blob, 12, 800)
            assert sum((root / name).stat().st_size for name in list_files(root)) <= limit


def test_one_file_larger_than_the_limit_is_still_served(
    counting_engine: CountingEngine, write_file: Put, tmp_path: Path
) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    with closing(PageStore(counting_engine, tmp_path / "cache", max_bytes=10)) as store:
        assert Path(store.image(FILE, 1, blob, 1, 800)).is_file()
        assert Path(store.image(OTHER, 1, blob, 1, 800)).is_file()
    assert list_files(tmp_path / "cache") == [f"{OTHER}/1/1-800.jpg"]


def test_a_restart_preserves_pages_and_removes_leftovers(
    counting_engine: CountingEngine, write_file: Put, tmp_path: Path
) -> None:
    blob, root = write_file(pdfs.simple_pdf(1)), tmp_path / "cache"
    with closing(PageStore(counting_engine, root)) as store:
        first = store.image(FILE, 1, blob, 1, 800)
    (root / "leftover.part").write_bytes(b"half an image")
    (Path(first).parent / "2-800.jpg").touch()
    with closing(PageStore(counting_engine, root)) as store:
        assert store.image(FILE, 1, blob, 1, 800) == first
    assert counting_engine.requested == [1]
    assert list_files(root) == [f"{FILE}/1/1-800.jpg"]


def test_a_restart_with_a_smaller_limit_evicts_files(
    counting_engine: CountingEngine, write_file: Put, tmp_path: Path
) -> None:
    blob, root = write_file(pdfs.simple_pdf(1)), tmp_path / "cache"
    with closing(PageStore(counting_engine, root)) as store:
        for file in ("a", "b", "c"):
            store.image(file, 1, blob, 1, 800)
    with closing(PageStore(counting_engine, root, max_bytes=5000)) as store:
        store.image("d", 1, blob, 1, 800)
    assert list_files(root) == ["d/1/1-800.jpg"]


def test_a_page_removed_manually_is_rendered_again(
    store: PageStore, counting_engine: CountingEngine, write_file: Put
) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    Path(store.image(FILE, 1, blob, 1, 800)).unlink()
    assert Path(store.image(FILE, 1, blob, 1, 800)).is_file()
    assert counting_engine.requested == [1, 1]


def test_files_and_folders_are_private(store: PageStore, write_file: Put) -> None:
    path = Path(store.image(FILE, 1, write_file(pdfs.simple_pdf(1)), 1, 800))
    assert path.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in (path.parent, path.parent.parent)} == {0o700}


def test_removing_a_file_removes_only_its_pages(store: PageStore, write_file: Put, tmp_path: Path) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    for version in (1, 2):
        store.image(FILE, version, blob, 1, 800)
        store.text(FILE, version, blob, 1)
    store.image(OTHER, 1, blob, 1, 800)
    store.files.delete_derived(FILE)
    store.files.delete_derived(FILE)
    assert list_files(tmp_path / "cache") == [f"{OTHER}/1/1-800.jpg"]


def test_a_page_rendered_while_its_file_is_deleted_is_not_stored(
    store: PageStore, counting_engine: CountingEngine, write_file: Put, tmp_path: Path
) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    counting_engine.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        page = pool.submit(store.image, FILE, 1, blob, 1, 800)
        wait_until(lambda: counting_engine.requested == [1])
        store.files.delete_derived(FILE)
        counting_engine.gate.set()
        failure = page.exception()
    assert isinstance(failure, UnrenderableError)
    assert failure.reason == "missing"
    assert list_files(tmp_path / "cache") == []


def test_a_page_that_cannot_be_rendered_is_attempted_once(
    store: PageStore, counting_engine: CountingEngine, write_file: Put
) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    for _ in range(3):
        with pytest.raises(UnrenderableError):
            store.image(FILE, 1, blob, 2, 800)
    assert counting_engine.requested == [2]


def open_stalling_page(blob: Path, cache: Path, *, readers: int, timeout_s: float) -> list[str]:
    """Let ``readers`` request a page that never finishes, which is rendered once; return the names of their errors."""
    with (
        closing(CountingEngine(timeout_s=timeout_s)) as engine,
        closing(PageStore(engine, cache)) as store,
        ThreadPoolExecutor(readers) as pool,
    ):
        jobs = [pool.submit(store.image, FILE, 1, blob, 1, 800) for _ in range(readers)]
        names = sorted(type(job.exception()).__name__ for job in jobs)
        assert engine.requested == [1]
    return names


def test_all_readers_of_a_stalling_page_get_an_error(write_file: Put, tmp_path: Path) -> None:
    blob = write_file(paced_pages("s"))
    names = open_stalling_page(blob, tmp_path / "cache", readers=3, timeout_s=1.0)
    assert names == ["UnrenderableError"] * 3


def test_only_a_few_readers_may_wait_for_a_stalling_page(write_file: Put, tmp_path: Path) -> None:
    blob = write_file(paced_pages("s"))
    names = open_stalling_page(blob, tmp_path / "cache", readers=10, timeout_s=4.0)
    assert names == ["Problem"] * 7 + ["UnrenderableError"] * 3


def test_a_store_that_cannot_write_is_unavailable(
    counting_engine: CountingEngine, write_file: Put, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with closing(PageStore(counting_engine, tmp_path / "cache")) as store:
        for _ in range(2):
            with pytest.raises(Problem) as caught:
                store.image(FILE, 1, write_file(pdfs.simple_pdf(1)), 1, 800)
            assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "30"})


def make_page_key(number: int, file: str = FILE) -> DerivedKey:
    return DerivedKey(file, 1, number, 800)


def make_late_problem(cost_s: float) -> UnrenderableError:
    return UnrenderableError("late", is_permanent=False, cost_s=cost_s)


def test_a_page_that_timed_out_may_be_retried_after_ten_minutes() -> None:
    failures = PageFailures()
    failures.remember("bytes", make_page_key(1), make_late_problem(1.0), 1000)
    with pytest.raises(UnrenderableError):
        failures.require_renderable("bytes", make_page_key(1), 1599)
    failures.require_renderable("bytes", make_page_key(1), 1601)


def test_a_page_that_crashes_the_engine_is_not_retried() -> None:
    failures = PageFailures()
    failures.remember("bytes", make_page_key(1), UnrenderableError("crash", is_permanent=True), 1000)
    with pytest.raises(UnrenderableError):
        failures.require_renderable("bytes", make_page_key(1), 10_000_000)


def test_a_document_that_wastes_fifteen_seconds_is_suspended_for_a_minute() -> None:
    failures = PageFailures()
    for number, cost_s in ((1, 10.0), (2, 2.0), (3, 2.0)):
        failures.remember("bytes", make_page_key(number), make_late_problem(cost_s), 1000)
        failures.require_renderable("bytes", make_page_key(9), 1000)
    failures.remember("bytes", make_page_key(4), make_late_problem(2.0), 1000)
    with pytest.raises(Problem) as caught:
        failures.require_renderable("bytes", make_page_key(9), 1000)
    assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "60"})
    failures.require_renderable("other bytes", make_page_key(9), 1000)
    failures.require_renderable("bytes", make_page_key(9), 1061)
    failures.remember("bytes", make_page_key(5), make_late_problem(2.0), 1100)
    with pytest.raises(Problem):
        failures.require_renderable("bytes", make_page_key(9), 1101)


def test_failures_apply_to_other_uploads_of_the_same_content() -> None:
    failures = PageFailures()
    failures.remember("bytes", make_page_key(1), UnrenderableError("crash", is_permanent=True), 1000)
    with pytest.raises(UnrenderableError):
        failures.require_renderable("bytes", make_page_key(1, OTHER), 1001)


def test_files_derived_from_unknown_documents_are_removed(store: PageStore, write_file: Put, tmp_path: Path) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    store.text(FILE, 1, blob, 1)
    store.text(OTHER, 1, blob, 1)
    store.files.delete_stale({FILE: 1})
    assert list_files(tmp_path / "cache") == [f"{FILE}/1/1.json"]


def test_files_derived_from_a_replaced_version_are_removed(store: PageStore, write_file: Put, tmp_path: Path) -> None:
    blob = write_file(pdfs.simple_pdf(1))
    for version in (1, 2, 12):
        store.text(FILE, version, blob, 1)
    store.files.delete_derived(FILE, 1)
    assert list_files(tmp_path / "cache") == [f"{FILE}/12/1.json", f"{FILE}/2/1.json"]
    store.files.delete_stale({FILE: 12})
    assert list_files(tmp_path / "cache") == [f"{FILE}/12/1.json"]


def test_delete_stale_does_not_create_the_cache(store: PageStore, tmp_path: Path) -> None:
    store.files.delete_stale({})
    assert not (tmp_path / "cache").exists()
