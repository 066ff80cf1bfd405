"""Fair slots: who gets one, who waits, and who is rejected."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from docshare.server.fair_slots import FairSlots
from docshare.server.http.parking import ParkableRequest
from tests.support.polling import wait_until


@pytest.fixture
def held_slots() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def hold_in_thread(slots: FairSlots, name: str, order: list[tuple[str, bool]]) -> threading.Thread:
    """Start a thread that waits for a slot, and return it once it is in the queue."""

    def wait() -> None:
        with slots.hold(name, 30) as got:
            order.append((name, got))

    before, thread = len(slots._queue), threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: len(slots._queue) == before + 1)
    return thread


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

    threads = [hold_in_thread(slots, name, order) for name in ("bob", "ann")]
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


def test_a_free_slot_goes_to_the_person_served_least_recently(held_slots: ExitStack) -> None:
    """After each request of an owner who queued many, a later request of another owner is served first."""
    slots, order = FairSlots(1, 12), []
    assert held_slots.enter_context(slots.hold("mal", 0))
    threads = [hold_in_thread(slots, name, order) for name in ("mal", "mal", "ann")]
    held_slots.close()
    for thread in threads:
        thread.join(30)
    assert order == [("ann", True), ("mal", True), ("mal", True)]


def test_of_equal_requests_in_a_full_queue_the_newest_is_rejected(held_slots: ExitStack) -> None:
    slots, order = FairSlots(1, 2), []
    assert held_slots.enter_context(slots.hold("mal", 0))
    threads = [hold_in_thread(slots, name, order) for name in ("ann", "bob")]
    with slots.hold("cy", 30) as got:
        assert not got
    held_slots.close()
    for thread in threads:
        thread.join(30)
    assert order == [("ann", True), ("bob", True)]


def test_persons_over_budget_come_last_and_hold_at_most_half_of_the_slots(held_slots: ExitStack) -> None:
    slots, order = FairSlots(4, 4, lambda who: str(who).startswith("mal")), []
    names = ("mal1", "mal2", "mal3", "ann")
    assert [held_slots.enter_context(slots.hold(name, 0)) for name in names] == [True, True, False, True]
    last = held_slots.enter_context(ExitStack())
    assert last.enter_context(slots.hold("bob", 0))
    threads = [hold_in_thread(slots, name, order) for name in ("mal3", "mal4", "cy", "dan")]
    threads.append(threading.Thread(target=lambda: slots.hold("eve", 30).__enter__()))
    threads[-1].start()
    wait_until(lambda: order == [("mal4", False)])
    last.close()
    for thread in threads[2:]:
        thread.join(30)
    assert order[1:] == [("cy", True), ("dan", True)]
    assert threads[0].is_alive()
    held_slots.close()
    threads[0].join(30)
    assert order[-1] == ("mal3", True)


def test_a_person_over_budget_may_hold_the_only_slot(held_slots: ExitStack) -> None:
    assert held_slots.enter_context(FairSlots(1, 0, lambda who: True).hold("mal", 0))


def test_close_rejects_waiting_and_later_requests(held_slots: ExitStack) -> None:
    slots, order = FairSlots(1, 4), []
    assert held_slots.enter_context(slots.hold("ann", 0))
    thread = hold_in_thread(slots, "bob", order)
    slots.close()
    thread.join(30)
    held_slots.close()
    with slots.hold("cy", 30) as got:
        assert (got, order) == (False, [("bob", False)])


def test_an_owner_who_was_served_long_ago_is_as_good_as_a_new_one(held_slots: ExitStack) -> None:
    """Otherwise, an endless series of new owners would always come first."""
    slots, order = FairSlots(1, 12, max_remembered=3), []
    for name in ("ann", "bob", "cy"):
        with slots.hold(name, 0) as got:
            assert got
    assert held_slots.enter_context(slots.hold("dan", 0))
    threads = [hold_in_thread(slots, name, order) for name in ("cy", "ann", "eve")]
    held_slots.close()
    for thread in threads:
        thread.join(30)
    assert order == [("ann", True), ("eve", True), ("cy", True)]


def test_a_request_reports_that_it_waits_for_a_slot() -> None:
    slots, waits = FairSlots(1), list[str]()
    with ParkableRequest(lambda: None, lambda: waits.append("wait")).run(), slots.hold("ann", 0) as is_held:
        assert (is_held, waits) == (True, [])
        with slots.hold("bob", 0) as is_held:
            assert (is_held, waits) == (False, ["wait"])
