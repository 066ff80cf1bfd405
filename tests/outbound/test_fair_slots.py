"""Fair slots: who gets one, who waits, and who is rejected."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from docshare.server.outbound.fair_slots import FairSlots
from tests.support.polling import wait_until


@pytest.fixture
def held_slots() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_one_person_gets_at_most_half_of_the_slots(held_slots: ExitStack) -> None:
    slots = FairSlots(8, 12)
    acquired = [held_slots.enter_context(slots.hold("mal", 0)) for _ in range(6)]
    assert acquired == [True] * 4 + [False] * 2
    assert [held_slots.enter_context(slots.hold(name, 0)) for name in ("ann", "ann", "bob", "cy", "dan", "eve")] == [
        True,
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_free_slot_goes_to_the_person_with_the_fewest(held_slots: ExitStack) -> None:
    slots, order = FairSlots(2, 12), []
    first = held_slots.enter_context(ExitStack())
    assert first.enter_context(slots.hold("mal", 0))
    assert held_slots.enter_context(slots.hold("bob", 0))

    def wait(name: str) -> None:
        with slots.hold(name, 30) as got:
            order.append((name, got))

    threads = [threading.Thread(target=wait, args=(name,)) for name in ("bob", "ann")]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_until(lambda number=number: len(slots._queue) == number)  # type: ignore[misc]
    first.close()
    threads[1].join(30)
    assert order == [("ann", True)]
    held_slots.close()
    threads[0].join(30)
    assert order == [("ann", True), ("bob", True)]
    assert not slots._held


def test_callers_over_the_queue_limit_are_rejected_immediately(held_slots: ExitStack) -> None:
    slots = FairSlots(1, 4)
    assert held_slots.enter_context(slots.hold("ann", 0))
    threads = [threading.Thread(target=lambda: slots.hold("mal", 30).__enter__()) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(slots._queue) == 2)
    with slots.hold("mal", 30) as got:
        assert not got
    with slots.hold("bob", 0.01) as got:
        assert not got
    held_slots.close()
    wait_until(lambda: not slots._queue)


def test_a_full_queue_admits_a_person_with_few_requests() -> None:
    slots, results = FairSlots(2, 6), []
    with ExitStack() as held:
        for name in ("mal1", "mal2"):
            assert held.enter_context(slots.hold(name, 0))

        def wait(name: str) -> None:
            with slots.hold(name, 30) as got:
                results.append((name, got))

        threads = [threading.Thread(target=wait, args=(name,)) for name in ("mal1", "mal2", "mal3") * 2]
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda number=number: len(slots._queue) == number)  # type: ignore[misc]
        innocent = [threading.Thread(target=wait, args=("ann",)) for _ in range(2)]
        for number, thread in enumerate(innocent, 1):
            thread.start()
            wait_until(lambda number=number: len(results) == number)  # type: ignore[misc]
        assert {got for _, got in results} == {False}
        assert "ann" not in [name for name, _ in results]
    for thread in threads + innocent:
        thread.join(30)
    assert [got for name, got in results if name == "ann"] == [True, True]
