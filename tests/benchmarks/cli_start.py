"""Measure the CPU time of starting the command line as a multiple of ``python -c pass`` in the same run.
Covers the usual and the slowest command of each class.

Run: ``python -m tests.benchmarks.cli_start [ROUNDS]``. Each round starts every command once, and ``python -c pass``
before each of them. A command is compared with its own round, so the speed of the machine may change between rounds;
the result is the median of the rounds. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import os
import pty
import statistics
import sys
import tempfile
import threading
from pathlib import Path

from tests.benchmarks.comparison import SMALLEST, read_amount
from tests.support.outside.fake_api import UUID, fake_api

TOKEN = "ds_live_" + "b" * 32
FILES = [
    {
        "uuid": UUID.format(number),
        "shortId": f"aB3dE5fG{number:04d}",
        "originalName": f"report {number}.pdf",
        "size": 4_200_000,
        "createdAt": "2026-11-20T09:00:00.000Z",
        "viewCount": number,
    }
    for number in range(30)
]

# name, arguments, on a terminal, target (times ``python -c pass``)
COMMANDS = (
    ("--version", ["--version"], False, 2.0),
    ("__complete", ["__complete", "files", "aB"], False, 2.0),
    ("profile list", ["profile", "list"], False, 6.0),
    ("completion", ["completion", "bash"], False, 6.0),
    ("help TOPIC", ["help", "exit-codes"], False, 6.0),
    ("--help", ["--help"], False, 6.0),
    ("upload --help", ["upload", "--help"], False, 6.0),
    ("settings set --help", ["settings", "set", "--help"], False, 6.0),
    ("webhooks listen --help", ["webhooks", "listen", "--help"], False, 6.0),
    ("variants create --help", ["variants", "create", "--help"], False, 6.0),
    ("config list", ["config", "list"], False, 6.0),
    ("settings schema", ["settings", "schema"], False, 6.0),
    ("webhooks sample", ["webhooks", "sample", "file.viewed"], False, 6.0),
    ("files list --json", ["files", "list", "--json"], False, 12.0),
    ("show --json", ["show", FILES[0]["shortId"], "--json"], False, 12.0),
    ("settings set --json", ["settings", "set", FILES[0]["shortId"], "viewLimit=3", "--json"], False, 12.0),
    ("events list --json", ["events", "list", "--json"], False, 12.0),
    ("files list, table", ["files", "list"], True, 15.0),
)


def measure_cpu_ms(argv: list[str], env: dict[str, str], terminal: bool) -> float:
    """Return user plus system milliseconds of one run with output to a terminal or to the null device."""
    reader, writer = pty.openpty() if terminal else (-1, os.open(os.devnull, os.O_WRONLY))
    null = os.open(os.devnull, os.O_RDONLY)
    drain = threading.Thread(target=_drain, args=(reader,)) if terminal else None
    if drain is not None:
        drain.start()
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, writer, 2)]
    child = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    os.close(writer)
    os.close(null)
    if drain is not None:
        drain.join()
        os.close(reader)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(argv)} failed with {os.waitstatus_to_exitcode(status)}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def _drain(reader: int) -> None:
    try:
        while os.read(reader, 65536):
            pass
    except OSError:
        return  # the child closed its side


def main() -> int:
    """Measure, print the results, and return the exit code."""
    rounds = read_amount(15, 1)
    with fake_api() as api, tempfile.TemporaryDirectory() as home:
        api.files = FILES
        api.on("GET", f"/files/{FILES[0]['shortId']}", FILES[0] | {"viewLimit": 3})
        api.on("PUT", f"/files/{FILES[0]['shortId']}/settings", b"")
        env = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "DOCSHARE_URL": api.url,
            "DOCSHARE_TOKEN": TOKEN,
            "TERM": "xterm",
        }
        plain = [sys.executable, "-c", "pass"]
        lines = [[sys.executable, "-m", "docshare", *words] for _, words, _, _ in COMMANDS]
        measure_cpu_ms(lines[-1], env, True)  # fills the cache of compiled modules and of completion
        times: list[list[float]] = [[] for _ in COMMANDS]
        ratios: list[list[float]] = [[] for _ in COMMANDS]
        bases: list[float] = []
        for _ in range(rounds):
            empty = []
            for index, (_, _, terminal, _) in enumerate(COMMANDS):
                empty.append(measure_cpu_ms(plain, env, False))
                times[index].append(measure_cpu_ms(lines[index], env, terminal))
            bases.append(statistics.median(empty))
            for index, durations in enumerate(times):
                ratios[index].append(durations[-1] / bases[-1])
    return _print_results(statistics.median(bases), times, ratios)


def _print_results(base: float, times: list[list[float]], ratios: list[list[float]]) -> int:
    print(f"{'python -c pass':22} {base:6.1f} ms")
    missed = False
    for (name, _, _, target), durations, found in zip(COMMANDS, times, ratios, strict=True):
        ratio = statistics.median(found)
        late = ratio > target and not SMALLEST
        missed |= late
        flag = "  MISSED" if late else ""
        print(f"{name:22} {statistics.median(durations):6.1f} ms  {ratio:5.2f}x  target {target:.0f}x{flag}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
