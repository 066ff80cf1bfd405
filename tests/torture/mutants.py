"""Run mutation tests of security-critical modules: change one operator or constant at a time and run the tests.

``python -m tests.torture.mutants [--sample COUNT] [MODULE]...`` works on a copy of the tree, for the given modules or
all of ``MODULES``. It prints survivors as diffs and exits with 1 if the tests detect fewer than 85% of the changes of a
module. All modules take hours, because every change runs the tests of its module; a sample of each takes minutes.
"""

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MIN_KILLED_SHARE = 0.85
_TIMEOUT_S = 120.0
# The linter allows ``is`` for singletons only (None and members of an Enum), where ``==`` answers the same.
_EQUIVALENT = ("_Is_Eq", "_IsNot_NotEq")
_COPIED = ("docshare", "tests", "pyproject.toml", "completions", "man", "README.md")


class Guard(NamedTuple):
    """A file to change, and the tests that should detect changes: paths, or single tests as ``path::name``, the
    quickest first."""

    path: str
    tests: tuple[str, ...]


_CUTTING = ("tests/pdf/test_resources.py", "tests/pdf/test_cut.py", "tests/pdf/test_cut_looks.py")
MODULES: dict[str, Guard] = {
    "auth": Guard(
        "docshare/server/services/accounts/callers.py",
        ("tests/api/test_callers.py", "tests/api/test_auth.py", "tests/api/files/test_manage_tokens.py"),
    ),
    "plans": Guard(
        "docshare/contract/features.py", ("tests/contract/test_features.py", "tests/contract/test_plans.py")
    ),
    "addresses": Guard("docshare/server/outbound/addresses.py", ("tests/outbound/test_addresses.py",)),
    "urls": Guard("docshare/server/rules/webhook_url.py", ("tests/rules/test_webhook_url.py",)),
    "trimming": Guard("docshare/server/rules/page_window.py", ("tests/rules/test_page_window.py",)),
    "cut": Guard("docshare/server/pdf/worker/cut.py", _CUTTING),
    "leaks": Guard("docshare/server/pdf/worker/leaks.py", ("tests/pdf/test_cut.py",)),
    "resources": Guard("docshare/server/pdf/worker/resources.py", _CUTTING),
    "segments": Guard("docshare/server/store/segments.py", ("tests/store/test_segments.py",)),
    "signing": Guard("docshare/contract/signing.py", ("tests/contract/test_signing.py",)),
    "retry": Guard(
        "docshare/server/services/webhooks/dispatch.py",
        (
            "tests/workers/deliveries/test_abandoned.py",
            "tests/workers/deliveries/test_deliveries.py",
            "tests/http/test_metrics.py::test_a_queued_delivery_is_reported_with_its_age",
            "tests/workers/test_other_instances.py::test_claims_of_a_crashed_instance_are_released_after_30_seconds",
        ),
    ),
    "turns": Guard("docshare/server/rules/deliveries.py", ("tests/workers/test_dispatcher.py", "tests/rules")),
}


class Result(NamedTuple):
    """``survivors`` are the undetected changes as diffs; ``total`` counts all changes."""

    total: int
    survivors: list[str]

    @property
    def killed_share(self) -> float:
        return 1 - len(self.survivors) / self.total if self.total else 0.0


def run_mutants(guard: Guard, most: int | None = None) -> Result:
    """Run the tests of ``guard`` once for each of its mutants, or for an evenly spread sample of ``most``."""
    with tempfile.TemporaryDirectory(prefix="docshare-mutants-") as folder:
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder)
        tests = " ".join(guard.tests)
        command = f"{sys.executable} -B -m pytest -x -q -p no:cacheprovider {tests}"
        config = Path(folder, "mutants.toml")
        config.write_text(
            f"[cosmic-ray]\nmodule-path = {json.dumps(guard.path)}\ntimeout = {_TIMEOUT_S}\nexcluded-modules = []\n"
            f'test-command = {json.dumps(command)}\n[cosmic-ray.distributor]\nname = "local"\n',
            encoding="utf-8",
        )
        _run_cosmic_ray(folder, "baseline", config.name)
        _run_cosmic_ray(folder, "init", config.name, "mutants.sqlite")
        _keep_mutants(Path(folder, "mutants.sqlite"), most)
        _run_cosmic_ray(folder, "exec", config.name, "mutants.sqlite")
        dump = _run_cosmic_ray(folder, "dump", "mutants.sqlite")
    results = [row[1] for row in map(json.loads, dump.splitlines()) if row[1]]
    survivors = [row["diff"] for row in results if row["test_outcome"] == "survived"]
    return Result(len(results), survivors)


def _run_cosmic_ray(folder: str, *args: str) -> str:
    command = [str(Path(sys.executable).with_name("cosmic-ray")), *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"cosmic-ray {args[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def _keep_mutants(session: Path, most: int | None) -> None:
    """Remove the equivalent mutants of a session and, unless ``most`` is ``None``, all but an evenly spread sample.

    The sample is taken by place in the file: the ids of Cosmic Ray are random, and a sample by id would be another one
    in each run.
    """
    with sqlite3.connect(session) as db:
        rows = db.execute(
            "SELECT job_id, operator_name FROM mutation_specs ORDER BY start_pos_row, start_pos_col, 2, occurrence"
        )
        jobs = [(job, operator) for job, operator in rows.fetchall()]
        kept = [job for job, operator in jobs if not operator.endswith(_EQUIVALENT)]
        if most is not None and most < len(kept):
            kept = [kept[place * len(kept) // most] for place in range(most)]
        removed = [(job,) for job, _ in jobs if job not in set(kept)]
        db.executemany("DELETE FROM mutation_specs WHERE job_id = ?", removed)
        db.executemany("DELETE FROM work_items WHERE job_id = ?", removed)
    db.close()


def main() -> int:
    """Run the mutants, print the results, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(MODULES))
    parser.add_argument("--sample", type=int, metavar="COUNT", help="changes of each module (default: all)")
    options = parser.parse_args()
    weak = []
    for name in options.modules or MODULES:
        result = run_mutants(MODULES[name], options.sample)
        detected = result.total - len(result.survivors)
        print(f"{name}: {detected} of {result.total} changes detected ({result.killed_share:.0%})", flush=True)
        print(*result.survivors, sep="\n", flush=True)
        if result.killed_share < MIN_KILLED_SHARE:
            weak.append(name)
    print("Too few changes are detected in:" if weak else "Enough changes are detected in all modules.", *weak)
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main())
