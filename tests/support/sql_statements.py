"""What a request asks of the database."""

from tests.support.cast import World


def record_statements(world: World, path: str) -> list[str]:
    """The statements that Pia's ``GET path`` runs, their values filled in."""
    seen: list[str] = []
    connection = world.rt.db.engine.connection()
    connection.set_trace_callback(seen.append)
    try:
        assert world.pia.get(path, buffered=True).status_code == 200
    finally:
        connection.set_trace_callback(None)
    return seen
