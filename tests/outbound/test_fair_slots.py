"""Places that are shared fairly: who gets one, who waits, and who is refused."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from docshare.server.outbound.fair_slots import FairSlots
from tests.support.polling import wait_until


@pytest.fixture
def held_places() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_one_person_takes_half_and_everybody_else_finds_a_place(held_places: ExitStack) -> None:
    places = FairSlots(8, 12)
    taken = [held_places.enter_context(places.hold("mal", 0)) for _ in range(6)]
    assert taken == [True] * 4 + [False] * 2
    assert [held_places.enter_context(places.hold(name, 0)) for name in ("ann", "ann", "bob", "cy", "dan", "eve")] == [
        True,
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_free_place_goes_to_who_holds_the_fewest(held_places: ExitStack) -> None:
    places, order = FairSlots(2, 12), []
    first = held_places.enter_context(ExitStack())
    assert first.enter_context(places.hold("mal", 0))
    assert held_places.enter_context(places.hold("bob", 0))

    def wait(name: str) -> None:
        with places.hold(name, 30) as got:
            order.append((name, got))

    threads = [threading.Thread(target=wait, args=(name,)) for name in ("bob", "ann")]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_until(lambda number=number: len(places._queue) == number)  # type: ignore[misc]
    first.close()
    threads[1].join(30)
    assert order == [("ann", True)]
    held_places.close()
    threads[0].join(30)
    assert order == [("ann", True), ("bob", True)]
    assert not places._held


def test_too_many_who_wait_are_refused_at_once(held_places: ExitStack) -> None:
    places = FairSlots(1, 4)
    assert held_places.enter_context(places.hold("ann", 0))
    threads = [threading.Thread(target=lambda: places.hold("mal", 30).__enter__()) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(places._queue) == 2)
    with places.hold("mal", 30) as got:
        assert not got
    with places.hold("bob", 0.01) as got:
        assert not got
    held_places.close()
    wait_until(lambda: not places._queue)


def test_a_full_queue_makes_room_for_who_waits_for_little() -> None:
    places, results = FairSlots(2, 6), []
    with ExitStack() as held:
        for name in ("mal1", "mal2"):
            assert held.enter_context(places.hold(name, 0))

        def wait(name: str) -> None:
            with places.hold(name, 30) as got:
                results.append((name, got))

        threads = [threading.Thread(target=wait, args=(name,)) for name in ("mal1", "mal2", "mal3") * 2]
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda number=number: len(places._queue) == number)  # type: ignore[misc]
        innocent = [threading.Thread(target=wait, args=("ann",)) for _ in range(2)]
        for number, thread in enumerate(innocent, 1):
            thread.start()
            wait_until(lambda number=number: len(results) == number)  # type: ignore[misc]
        assert {got for _, got in results} == {False}
        assert "ann" not in [name for name, _ in results]
    for thread in threads + innocent:
        thread.join(30)
    assert [got for name, got in results if name == "ann"] == [True, True]
