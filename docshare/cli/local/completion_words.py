"""Completion words from small cache files. ``docshare __complete`` must answer while a person types.

It reads no configuration, imports almost nothing, and uses no network but for ``complete_online``. Ordinary commands
fill the cache when they list and upload; words stay cached until the next list, because a stale word is better than
none. There is one file per kind, server and account with lines of ``value<TAB>description``; ``home-NAME`` has the
origin and the account of a profile, ``current`` the name of the default profile, ``accounts`` the accounts of
credentials, and ``online`` the profiles with ``complete_online``, for which words older than ``FRESH_S`` are fetched
again.
"""

import os
import sys
import time
from collections.abc import Mapping

from docshare.cli.local.paths import (
    ACCOUNTS_FILE,
    BUILT_IN_ORIGIN,
    cache_file_name,
    find_account,
    format_line,
    hash_credential,
    parse_origin,
    resolve_directory,
)

FRESH_S = 60.0
_REFRESHABLE_KINDS = ("files", "webhooks")  # kinds that a server can list without further arguments


def print_completions(argv: list[str], env: Mapping[str, str] = os.environ) -> int:
    """Run ``docshare __complete KIND [PREFIX]``: print matching lines. Never fail, because a shell is waiting."""
    kind, prefix = (*argv, "", "")[:2]
    if kind in _REFRESHABLE_KINDS and _is_stale(kind, env):
        from docshare.cli.completion.online import refresh

        refresh(kind, env)
    found = "".join(line + "\n" for line in read_completions(kind, env) if line.startswith(prefix))
    try:
        sys.stdout.buffer.write(found.encode("utf-8"))
        sys.stdout.flush()
    except OSError:
        return 1
    return 0


def read_completions(kind: str, env: Mapping[str, str]) -> list[str]:
    """Return the cached lines of a kind (files, variants, profiles), escaped again: the cache is not trusted."""
    root = _find_cache_directory(env)
    name = "profiles" if kind == "profiles" else _resolve_file_name(kind, root, env)
    return [safe for line in _read_lines(root, name) if (safe := format_line(*line.partition("\t")[::2]))]


def _is_stale(kind: str, env: Mapping[str, str]) -> bool:
    """Return whether to fetch the words of a kind again.

    Record the attempt, so that an unresponsive server delays at most one TAB per minute.
    """
    root = _find_cache_directory(env)
    profile = _read_profile(root, env)
    if not profile or profile not in _read_lines(root, "online"):
        return False
    path = os.path.join(root, _resolve_file_name(kind, root, env))
    try:
        if 0 <= time.time() - os.stat(path).st_mtime < FRESH_S:
            return False
        os.utime(path)
    except OSError:
        return _touch(path)
    return True


def _touch(path: str) -> bool:
    try:
        with open(path, "a", encoding="utf-8"):
            return True
    except OSError:
        return False


def _find_cache_directory(env: Mapping[str, str]) -> str:
    return os.path.join(resolve_directory("cache", env), "complete")


def _read_profile(root: str, env: Mapping[str, str]) -> str:
    return env.get("DOCSHARE_PROFILE") or _read_line(root, "current")


def _resolve_file_name(kind: str, root: str, env: Mapping[str, str]) -> str:
    home, _, account = _read_line(root, f"home-{_read_profile(root, env)}").partition("\t")
    url, token = env.get("DOCSHARE_URL", "").strip(), env.get("DOCSHARE_TOKEN", "").strip()
    origin, name = parse_origin(url) if url else home or BUILT_IN_ORIGIN, hash_credential(token) if token else account
    return cache_file_name(kind, origin, find_account(_read_lines(root, ACCOUNTS_FILE), origin, name) or name)


def _read_line(root: str, name: str) -> str:
    return next(iter(_read_lines(root, name)), "")


def _read_lines(root: str, name: str) -> list[str]:
    if "/" in name or os.sep in name:
        return []
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as lines:
            return lines.read().split("\n")
    except OSError:
        return []
