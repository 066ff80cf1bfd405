"""A report takes a fixed number of statements, none of which scans the sessions of the file."""

from typing import Any

import pytest

from tests.support.engines.database import record_statements, sqlite_only
from tests.support.engines.rows import insert_gate_response
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, end_all_sessions


def simulate_readers(world: World, made: dict[str, Any], readers: int) -> None:
    for host in range(readers):
        variant = world.pia.post(f"/api/v1/files/{made['uuid']}/variants").get_json()
        reader = FakeReader(world, variant["shortId"], address=f"198.51.100.{host}")
        for page in (1, 2, 3):
            reader.read_page(6, page)
        insert_gate_response(world, made["uuid"], {"mail": "a@b.example"})
    end_all_sessions(world)


@pytest.mark.parametrize(("tail", "most"), [("", 15), ("/pages", 6), ("/sessions", 6)])
def test_a_report_takes_the_same_number_of_statements_for_any_number_of_views(
    world: World, tail: str, most: int
) -> None:
    made = world.pia.upload()
    path = f"/api/v1/files/{made['uuid']}/readership{tail}"
    simulate_readers(world, made, 1)
    few = record_statements(world, path)
    simulate_readers(world, made, 5)
    assert len(record_statements(world, path)) == len(few) <= most


@sqlite_only
def test_no_statement_of_a_report_scans_the_sessions_of_its_file(world: World) -> None:
    made = world.pia.upload()
    simulate_readers(world, made, 1)
    for statement in record_statements(world, f"/api/v1/files/{made['uuid']}/readership"):
        if not statement.lstrip().startswith("SELECT"):
            continue
        for row in world.rt.db.fetch_all(f"EXPLAIN QUERY PLAN {statement}"):
            step = str(row[3])
            # Few sessions are open at a time; at most fifty ended sessions are found by their key.
            assert "view_sessions_file" not in step, statement
            if step.startswith("SCAN"):
                assert "view_sessions_open" in step or step.startswith(("SCAN (subquery", "SCAN middle")), (
                    step,
                    statement,
                )
            if "session_rows" in step:
                assert "session_rows_time" in step or "session_rows_started" in step


@sqlite_only
def test_the_newest_sessions_are_found_without_sorting(world: World) -> None:
    made = world.pia.upload()
    simulate_readers(world, made, 1)
    seen = record_statements(world, f"/api/v1/files/{made['uuid']}/readership")
    (newest,) = (text for text in seen if "ORDER BY r.started_at" in text)
    plan = " ".join(str(row[3]) for row in world.rt.db.fetch_all(f"EXPLAIN QUERY PLAN {newest}"))
    assert "session_rows_started" in plan
    assert "TEMP B-TREE" not in plan
