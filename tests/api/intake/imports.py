"""Post an import, and assert that a rejected one stores nothing."""

from typing import Any

from werkzeug.test import TestResponse

from tests.support.engines.rows import count_rows
from tests.support.people.cast import Person, World


def post_import(person: Person, url: object, **more: object) -> TestResponse:
    return person.post("/api/v1/files/import", json={"url": url, **more})


def assert_import_refused(world: World, answer: TestResponse, status: int, code: str) -> dict[str, Any]:
    """Assert that the import was rejected and stored nothing; return the problem."""
    assert (answer.status_code, answer.get_json()["code"]) == (status, code), answer.get_data(as_text=True)
    assert [
        path for root in (world.rt.blobs.root, world.rt.blobs.tmp) for path in root.rglob("*") if path.is_file()
    ] == []
    assert count_rows(world, "files") == 0
    problem: dict[str, Any] = answer.get_json()
    return problem
