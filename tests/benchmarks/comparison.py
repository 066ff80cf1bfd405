"""Measure the product and a reference limit alternately in one run, under the same conditions of the machine."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeVar

SMALLEST = "--smallest" in sys.argv
"""Run once at the smallest size without checking targets, as the test suite does to keep benchmarks working."""

_Number = TypeVar("_Number", int, float)


def read_amount(usual: _Number, smallest: _Number) -> _Number:
    """Return the first number on the command line, or ``usual``; with ``--smallest``, return ``smallest``."""
    arguments = [word for word in sys.argv[1:] if not word.startswith("-")]
    return smallest if SMALLEST else type(usual)(arguments[0]) if arguments else usual


@dataclass(frozen=True)
class Comparison:
    """Medians of one comparison. ``reached``: whether the ratio product / limit meets the target."""

    product: float
    limit: float
    ratio: float
    reached: bool


def compare_in_turns(
    name: str,
    product: Callable[[], float],
    limit: Callable[[], float],
    *,
    target: float,
    better: Literal["more", "less"],
    unit: str,
    rounds: int = 5,
) -> Comparison:
    """Run ``product`` and ``limit`` alternately; print both medians, their ratio and the target.

    Parameters: each callable returns one measurement in ``unit``; ``better`` defines whether a high value
    is good (then the ratio must be at least ``target``) or a low one (at most); the first round is a warm-up.
    """
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(2 if SMALLEST else rounds + 1):
        pair = product(), limit()
        if number:
            ours.append(pair[0])
            theirs.append(pair[1])
    ratio = median(ours) / median(theirs)
    reached = SMALLEST or (ratio >= target if better == "more" else ratio <= target)
    outcome = Comparison(median(ours), median(theirs), ratio, reached)
    sign = ">=" if better == "more" else "<="
    print(
        f"{name}: product {outcome.product:.4g} {unit}, limit {outcome.limit:.4g} {unit}, "
        f"ratio {ratio:.2f} (target {sign} {target:g}) {format_verdict(reached)}"
    )
    return outcome


def check_bound(name: str, value: float, most: float, unit: str) -> bool:
    """Print a value with an absolute upper bound; return whether it is within the bound."""
    reached = SMALLEST or value <= most
    print(f"{name}: {value:.4g} {unit} (target <= {most:g} {unit}) {format_verdict(reached)}")
    return reached


def format_verdict(reached: bool) -> str:
    """Return the verdict at the end of a line."""
    return "not checked" if SMALLEST else "ok" if reached else "MISSED"
