"""Insert and update rows of files and their readers directly in the database."""

import json
from typing import Any

from tests.support.engines.database import ON_POSTGRESQL, fetch_dicts
from tests.support.people.cast import Person, World


def insert_view(
    world: World,
    file_uuid: str,
    *,
    read_at: int | None = 1_790_000_000_000,
    country: str | None = "DE",
    pages: int = 3,
    time_ms: int = 42_000,
) -> int:
    """Add a view of the file; return its id in the stream."""
    return _insert_row(
        world, "view_rows", file_uuid, read_at=read_at, country=country, pages_viewed=pages, time_ms=time_ms
    )


def insert_download(world: World, file_uuid: str, *, country: str | None = "DE") -> int:
    """Add a download of the file; return its id in the stream."""
    return _insert_row(world, "download_rows", file_uuid, read_at=1_790_000_000_000, country=country)


def insert_gate_response(world: World, file_uuid: str, fields: dict[str, str] | str | None) -> int:
    """Add a completed gate form (a ``str`` is stored unchanged); return its id in the stream."""
    text = json.dumps(fields) if isinstance(fields, dict) else fields
    return _insert_row(world, "gate_rows", file_uuid, read_at=1_790_000_000_000, fields=text)


def update_file_row(world: World, file_uuid: str, **columns: Any) -> None:
    """Set columns of a file's row directly."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with world.rt.db.write():
        assert world.rt.db.execute(f"UPDATE files SET {names} WHERE uuid = ?", (*columns.values(), file_uuid)) == 1


def set_next_id(world: World, table: str, next_id: int) -> None:
    """Make the next row of ``table`` get ``next_id``."""
    with world.rt.db.write():
        if ON_POSTGRESQL:
            world.rt.db.fetch_one("SELECT setval(pg_get_serial_sequence(?, 'id'), ?)", (table, next_id - 1))
        else:
            world.rt.db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (next_id - 1, table))


def count_rows(world: World, table: str) -> int:
    """Return how many rows ``table`` has."""
    found = world.rt.db.fetch_one(f"SELECT COUNT(*) FROM {table}")
    assert found is not None
    return int(found[0])


def _insert_row(world: World, table: str, file_uuid: str, **columns: Any) -> int:
    names = ", ".join(columns)
    marks = ", ".join("?" for _ in columns)
    with world.rt.db.write():
        world.rt.db.execute(
            f"INSERT INTO {table} (owner_id, file_id, {names}) SELECT owner_id, id, {marks} FROM files WHERE uuid = ?",
            (*columns.values(), file_uuid),
        )
        found = world.rt.db.fetch_one(f"SELECT MAX(id) FROM {table}")
    assert found is not None
    return int(found[0])


def insert_files(world: World, count: int, person: Person | None = None, **columns: Any) -> None:
    """Insert ``count`` files of Pia, or of ``person``, as copies of one row: ``file 1.pdf`` (the oldest) and so on."""
    made = (person or world.pia).upload()
    (base,) = fetch_dicts(world.rt.db, "SELECT * FROM files WHERE uuid = ?", made["uuid"])
    del base["id"]
    with world.rt.db.write():
        world.rt.db.execute("DELETE FROM files WHERE uuid = ?", (made["uuid"],))
        for number in range(1, count + 1):
            own = {
                "uuid": world.rt.random_uuid(),
                "short_id": world.rt.random_token(12),
                "original_name": f"file {number}.pdf",
            }
            values = base | own | columns
            marks = ", ".join("?" * len(values))
            world.rt.db.execute(f"INSERT INTO files ({', '.join(values)}) VALUES ({marks})", list(values.values()))
