"""Each benchmark runs once at its smallest size, to keep it working. Results are not checked."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SUPPORT_MODULES = {"__init__", "servers", "comparison", "test_smallest"}
BENCHMARKS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in SUPPORT_MODULES)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_at_its_smallest_size(name: str) -> None:
    command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--smallest"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, cwd=HERE.parents[1])
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), "it prints no result"
