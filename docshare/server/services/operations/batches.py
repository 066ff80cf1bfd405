"""Work on very many rows, in transactions so short that nobody waits for one."""

from collections.abc import Callable

from docshare.server.runtime import Runtime


def run_in_batches(rt: Runtime, size: int, work: Callable[[], int]) -> int:
    """Do ``work``, each time in a transaction of its own, until it has done less than ``size``; returns how much it did
    altogether."""
    done = 0
    while True:
        with rt.db.write():
            batch = work()
        done += batch
        if batch < size:
            return done
