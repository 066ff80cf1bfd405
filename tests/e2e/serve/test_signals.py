"""``docshare serve`` stops on a signal, whichever thread of the process the system delivers it to."""

import subprocess
import sys
from pathlib import Path

from tests.support.servers.server_process import make_env

# Once the main thread waits, another thread receives SIGTERM: a signal that does not interrupt the wait.
SIGNAL_FROM_ANOTHER_THREAD = """
import signal, sys, threading, time

def is_waiting():
    frame = sys._current_frames()[threading.main_thread().ident]
    names = [frame.f_code.co_name]
    while frame := frame.f_back:
        names.append(frame.f_code.co_name)
    return names[0] == "wait" and "_serve_until_stopped" in names

def terminate():
    seen = 0
    while seen < 5:
        time.sleep(0.05)
        seen = seen + 1 if is_waiting() else 0
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=terminate, daemon=True).start()
from docshare.__main__ import main
sys.exit(main())
"""


def test_a_signal_that_does_not_interrupt_the_main_thread_stops_the_server(tmp_path: Path) -> None:
    """A signal that arrives just before the main thread begins to wait does not interrupt the wait either."""
    line = [sys.executable, "-c", SIGNAL_FROM_ANOTHER_THREAD, "serve", "--port", "0"]
    process = subprocess.Popen(
        line, env=make_env(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.wait(120) == 0  # it has to start first
    finally:
        process.kill()
        process.communicate(timeout=30)


# The main thread holds the lock of the event when the signal arrives, as it briefly does in each wait.
SIGNAL_WHILE_LOCKED = """
import os, signal
from docshare.cli.framework.background import trap_signals
with trap_signals() as stop:
    with stop._cond:
        os.kill(os.getpid(), signal.SIGTERM)
        print("still running", flush=True)
    print(stop.wait(10))
"""


def test_a_signal_during_the_wait_stops_it_at_any_moment(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNAL_WHILE_LOCKED], env=make_env(tmp_path), capture_output=True, text=True, timeout=30
    )
    assert done.stdout.splitlines() == ["still running", "True"], done.stderr
