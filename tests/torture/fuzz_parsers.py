"""Fuzz eight parsers of untrusted input, guided by coverage.

``python -m tests.torture.fuzz_parsers [MINUTES [TARGET]]`` fuzzes each target for 30 minutes or for MINUTES, and exits
with 1 if one of them raises. Requires ``atheris``, which has wheels for Linux on x86-64.
"""

import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

_GRACE_SECONDS = 300  # for the start, and for the last input
_RUNS = re.compile(r"Done (\d+) (?:runs )?in (\d+) second|#(\d+)\s+DONE")
_NAMES = (
    "multipart_name",
    "settings",
    "viewer_settings",
    "url_rule",
    "id_router",
    "since_and_limit",
    "csv_sheet",
    "disposition",
)


def fuzz(name: str, folder: str, seconds: int) -> None:
    """Fuzz one target in this process; write inputs that cause a failure to ``folder``. Does not return."""
    import atheris

    with atheris.instrument_imports(include=["docshare"]):
        from tests.torture.fuzz_targets import TARGETS
    # The peak counts from the process that started this one: the kernel hands it on.
    inherited_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    limits = [f"-max_total_time={seconds}", "-timeout=30", f"-rss_limit_mb={inherited_mb + 1024}"]
    atheris.Setup([sys.argv[0], *limits, "-max_len=512", f"-artifact_prefix={folder}/"], TARGETS[name])
    atheris.Fuzz()


def run(name: str, seconds: int) -> bool:
    """Fuzz one target in a separate process, print the result, and return whether there was no failure."""
    with tempfile.TemporaryDirectory(prefix="docshare-fuzz-") as folder:
        command = [sys.executable, "-m", "tests.torture.fuzz_parsers", "--fuzz", name, folder, str(seconds)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds + _GRACE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: FAILED, still running after {seconds + _GRACE_SECONDS} s (is the machine busy?)")
            return False
        found = [path.read_bytes() for path in Path(folder).iterdir()]
    runs = [next(filter(None, match)) for match in _RUNS.findall(done.stderr)]
    print(f"{name}: {runs[-1] if runs else 'no'} runs in {seconds} s, {'ok' if done.returncode == 0 else 'FAILED'}")
    if done.returncode:
        print(*(f"  {data!r}" for data in found), done.stdout[-2000:] + done.stderr[-2000:], sep="\n")
    return done.returncode == 0 and bool(runs)


def main(minutes: float = 30, *names: str) -> int:
    """Fuzz the targets and return the exit code."""
    results = [run(name, max(1, round(minutes * 60))) for name in names or _NAMES]
    print(f"{results.count(True)} of {len(results)} targets passed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fuzz"]:
        fuzz(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    sys.exit(main(*map(float, sys.argv[1:2]), *sys.argv[2:]))
