"""Signals end a command at any point."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from docshare.cli.framework.background import trap_signals
from docshare.cli.framework.exits import DeadlinePassed, HungUp, Terminated
from docshare.cli.framework.signals import defer_signals, handle_signals, raise_lost_signal


class SignalingObject:
    """Sends a signal in its finalizer, where Python discards any exception."""

    def __init__(self, number: signal.Signals) -> None:
        self._number = number

    def __del__(self) -> None:
        signal.raise_signal(self._number)
        for _ in range(1000):
            pass  # the handler runs between two instructions, so some must follow


def _run_command(number: signal.Signals) -> None:
    with handle_signals():
        SignalingObject(number)
        threading.Event().wait(10)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGTERM, Terminated),
        (signal.SIGINT, KeyboardInterrupt),
        (signal.SIGHUP, HungUp),
        (signal.SIGALRM, DeadlinePassed),
    ],
)
def test_a_signal_in_a_finalizer_still_ends_the_command(number: signal.Signals, error: type[BaseException]) -> None:
    with pytest.raises(error):
        _run_command(number)


def test_a_second_signal_during_the_handling_of_the_first_loses_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    struck: list[signal.Signals] = []

    class Thread(threading.Thread):
        def start(self) -> None:
            super().start()
            if not struck:
                struck.append(signal.SIGTERM)
                signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("docshare.cli.framework.signals.threading.Thread", Thread)
    with pytest.raises((KeyboardInterrupt, Terminated)):
        _run_command(signal.SIGINT)
    assert struck == [signal.SIGTERM]


def test_other_unraisable_exceptions_go_to_the_previous_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __del__(self) -> None:
            raise ValueError("dropped")

    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: dropped.append(found.exc_type))
    with handle_signals():
        Failing()
    assert dropped == [ValueError]


def _continue_after_signal() -> None:
    with handle_signals():
        with contextlib.suppress(Terminated):  # as code that loses it would
            signal.raise_signal(signal.SIGTERM)
        raise_lost_signal()


def test_a_loop_that_runs_on_notices_that_a_signal_was_lost() -> None:
    with pytest.raises(Terminated):
        _continue_after_signal()
    with handle_signals():
        raise_lost_signal()  # which a later command has nothing to do with


def test_a_closed_terminal_may_send_its_signal_twice() -> None:
    cleaned = []

    def run() -> None:
        with handle_signals():
            try:
                signal.raise_signal(signal.SIGHUP)
            finally:
                signal.raise_signal(signal.SIGHUP)
                with defer_signals():
                    cleaned.append(True)

    with pytest.raises(HungUp):
        run()
    assert cleaned == [True]


@pytest.fixture
def nohup() -> Iterator[None]:
    """Ignore SIGHUP, as nohup does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("nohup")
def test_a_command_that_ignores_a_closed_terminal_continues() -> None:
    with handle_signals(), defer_signals(), trap_signals() as stop:
        signal.raise_signal(signal.SIGHUP)
        assert not stop.wait(0.1)


def test_a_closed_terminal_stops_a_server() -> None:
    with trap_signals() as stop:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        assert stop.wait(10)
