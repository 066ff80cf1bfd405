"""Hostile values that JSON can contain; the parsers of the contract must reject each of them with a Problem."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from docshare.contract.problems import Problem

DEEP: Any = []
for _ in range(50_000):
    DEEP = [DEEP]

AWKWARD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**63,
    10**400,
    -(10**400),
    0.5,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "#\uff11\uff12\uff13\uff14\uff15\uff16",
    "\uff15",
    "\u0665",
    "1_000",
    "+5 ",
    "\u212a.com",
    "https://127.0.0.1\\@a.example/",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": None},
]
HOSTILE_VALUES = [*AWKWARD_VALUES, "a" * 100_000, DEEP]

_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50) | st.sampled_from(AWKWARD_VALUES)
)


def json_values(keys: list[str]) -> st.SearchStrategy[Any]:
    """Return a strategy for nested JSON values whose objects often have ``keys``."""
    names = st.sampled_from(keys) | st.text(max_size=10)
    return st.recursive(
        _leaves,
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(names, inner, max_size=8),
        max_leaves=30,
    )


def run_parser(parse: Callable[..., Any], *values: Any) -> tuple[bool, Any]:
    """Return whether ``parse`` accepts the value, with its result or the code of its Problem; other errors are
    raised."""
    try:
        return True, parse(*values)
    except Problem as problem:
        return False, problem.code


def list_rejection_codes(parse: Callable[[Any], Any]) -> set[str]:
    """Return the codes of the Problems that ``parse`` raises on hostile values."""
    answers = [run_parser(parse, value) for value in HOSTILE_VALUES]
    return {found for accepted, found in answers if not accepted}
