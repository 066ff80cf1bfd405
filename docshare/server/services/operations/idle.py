"""Erase the data of earlier requests from memory while the server is idle."""

from docshare.server.runtime import Runtime

_PROBED_ROUTES = ("/healthz", "/metrics")  # requested every few seconds; their responses contain nothing of a document


def erase_memory(rt: Runtime) -> int:
    """Erase the free memory of this process, once after each busy period. Return 0, so that the job logs nothing."""
    rows = rt.requests.snapshot().items()
    count = sum(sum(row[:-1]) for (_, route, _), row in rows if route not in _PROBED_ROUTES)
    if rt.free_memory.is_due(int(count)):
        rt.db.release_memory()
        rt.engine.end_idle()
        rt.free_memory.erase()
    return 0
