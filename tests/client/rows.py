"""The ids of rows that an iteration over a feed yields."""


def row_ids(rows: object) -> list[int]:
    return [each["id"] for each in rows]  # type: ignore[attr-defined]


def list_reachable_ids(first: int, count: int) -> list[int]:
    """Return the ids of ``count`` rows from ``first`` on that an iteration from the start can reach.

    No response can contain id 1 once 100 newer rows exist.
    """
    ids = list(range(first, first + count))
    return ids[1:] if first == 1 and count > 100 else ids
