"""Measure the peak memory of a command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

# VmHWM belongs to the new program alone; ru_maxrss of a child begins with the peak of its parent.
_RUN = """
import sys
from docshare.cli.main import main
code = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print("peak", peak.split()[1], file=sys.stderr)
sys.exit(code)
"""


def measure_peak_megabytes(argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, float]:
    """Run ``docshare`` with ``argv`` and return its standard output and its peak resident memory. It must succeed."""
    done = subprocess.run([sys.executable, "-c", _RUN, *argv], capture_output=True, env=env, text=True, check=True)
    return done.stdout, int(done.stderr.split()[-1]) / 1024
