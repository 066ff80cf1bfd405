"""An import asked for, and a look that a refused one left nothing behind."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.cast import Person, World
from tests.support.rows import count_rows


def post_import(person: Person, url: object, **more: object) -> TestResponse:
    return person.post("/api/v1/files/import", json={"url": url, **more})


def assert_import_refused(world: World, answer: TestResponse, status: int, code: str) -> dict[str, Any]:
    """The problem, after a look that the refusal left nothing behind."""
    assert (answer.status_code, answer.get_json()["code"]) == (status, code), answer.get_data(as_text=True)
    assert [
        path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()
    ] == []
    assert count_rows(world, "files") == 0
    problem: dict[str, Any] = answer.get_json()
    return problem
