"""Process very many rows in transactions so short that no other request waits for one."""

from collections.abc import Callable

from docshare.server.runtime import Runtime


def run_in_batches(rt: Runtime, size: int, work: Callable[[], int]) -> int:
    """Call ``work``, each time in a separate transaction, until it returns less than ``size``; return the sum."""
    done = 0
    while True:
        with rt.db.write():
            batch = work()
        done += batch
        if batch < size:
            return done
