"""Is the instance whole? Database integrity, and every row's bytes in the store."""

from typing import Any

from docshare.server.runtime import Runtime

_FILES = "SELECT uuid, blob, size, destroyed_at FROM files ORDER BY id"
_ASSETS = "SELECT uuid, blob, size FROM assets ORDER BY id"


def run(rt: Runtime) -> dict[str, Any]:
    """Look for damage, changing nothing.

    Returns ``{ok, files, bytes, problems}``: ``problems`` is a list of ``{check, detail}``, empty when all is well.
    """
    problems = [{"check": "database", "detail": str(row[0])} for row in rt.db.rows("PRAGMA integrity_check")]
    problems = [problem for problem in problems if problem["detail"] != "ok"]
    for table, row_id, parent, _ in rt.db.rows("PRAGMA foreign_key_check"):
        problems.append({"check": "database", "detail": f"row {row_id} of {table} points to a missing row of {parent}"})
    files = size = 0
    for uuid, blob, expected, destroyed_at in rt.db.stream(_FILES):
        files += 1
        size += expected
        detail = None if destroyed_at is not None else _damage(rt, blob, expected)
        if detail:
            problems.append({"check": "content", "detail": f"file {uuid}: {detail}"})
    for uuid, blob, expected in rt.db.stream(_ASSETS):
        size += expected
        detail = _damage(rt, blob, expected)
        if detail:
            problems.append({"check": "content", "detail": f"asset {uuid}: {detail}"})
    return {"ok": not problems, "files": files, "bytes": size, "problems": problems}


def _damage(rt: Runtime, blob: str, expected: int) -> str | None:
    try:
        actual = rt.blobs.path(blob).stat().st_size
    except FileNotFoundError:
        return "its content is missing from the store"
    return None if actual == expected else f"its content has {actual} bytes instead of {expected}"
