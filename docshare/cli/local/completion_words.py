"""Completion words from small cache files. ``docshare __complete`` must answer while a person types.

It uses no network, reads no configuration and imports almost nothing. Ordinary commands fill the cache when they list
and upload; words stay cached until the next list, because a stale word is better than none. There is one file per kind,
server and account with lines of ``value<TAB>description``; ``home-NAME`` has the origin and the account of a profile,
``current`` the name of the default profile, and ``online`` the profiles with ``complete_online``, for which words older
than ``FRESH_S`` are fetched again.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping

from docshare.cli.local.paths import resolve_directory

_VALUE_CHARS = "_.:/@-"
_DESCRIPTION_CHARS = " .,()@+-_"
_MAX_DESCRIPTION = 60
FRESH_S = 60.0
BUILT_IN_ORIGIN = "http://127.0.0.1:8787"
_REFRESHABLE_KINDS = ("files", "webhooks")  # kinds that a server can list without further arguments
_MAX_LINES = 2000  # more lines would slow down the shell


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
    """Whether to fetch the words of a kind again.

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
    origin, _, account = _read_line(root, f"home-{_read_profile(root, env)}").partition("\t")
    url, token = env.get("DOCSHARE_URL", "").strip(), env.get("DOCSHARE_TOKEN", "").strip()
    return cache_file_name(
        kind, parse_origin(url) if url else origin or BUILT_IN_ORIGIN, hash_token(token) if token else account
    )


def cache_file_name(kind: str, origin: str, account: str) -> str:
    """Return the name of the cache file with the words of ``kind`` for one account of one server."""
    return f"{kind}-" + "".join(char if char.isalnum() or char in ".-" else "_" for char in f"{origin}-{account}")


def parse_origin(url: str) -> str:
    """Return scheme, host and non-default port of a URL, as ``client.address.origin_of``, which is slower to import."""
    scheme, _, rest = url.partition("://")
    host = rest.replace("?", "/").replace("#", "/").partition("/")[0].rpartition("@")[2]
    port = {"https": ":443", "http": ":80"}.get(scheme.lower(), ":")
    return f"{scheme}://{host.removesuffix(port)}".lower()


def hash_token(token: str) -> str:
    """Return a name for the account of a credential that does not reveal the credential."""
    from hashlib import sha256

    return sha256(token.encode(errors="surrogateescape")).hexdigest()[:16]


def format_line(value: str, description: str) -> str:
    """Return ``value<TAB>description`` without shell metacharacters; empty if no value is left."""
    if not value or not all(char.isascii() and (char.isalnum() or char in _VALUE_CHARS) for char in value):
        return ""
    words = "".join(char for char in description if char.isalnum() or char in _DESCRIPTION_CHARS)
    return f"{value}\t{words[:_MAX_DESCRIPTION].strip()}".rstrip()


def format_file_lines(files: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the lines for File objects: short id (or UUID) and name, and ``slug:NAME`` if set."""
    lines: list[str] = []
    for file in files:
        name = str(file.get("originalName", ""))
        lines.append(format_line(str(file.get("shortId") or file.get("uuid", "")), name))
        if file.get("slug"):
            lines.append(format_line(f"slug:{file['slug']}", name))
    return [line for line in lines if line][:_MAX_LINES]


def format_variant_lines(variants: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the lines for Variant objects: short id (or UUID) and label."""
    lines = (
        format_line(str(each.get("shortId") or each.get("uuid", "")), str(each.get("label", ""))) for each in variants
    )
    return [line for line in lines if line][:_MAX_LINES]


def format_webhook_lines(webhooks: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the lines for Webhook objects: UUID and host. The rest of the URL may contain a secret."""
    lines = (format_line(str(each.get("uuid", "")), _parse_host(str(each.get("url", "")))) for each in webhooks)
    return [line for line in lines if line][:_MAX_LINES]


def _parse_host(url: str) -> str:
    rest = url.partition("://")[2]
    for end in "/?#:":
        rest = rest.partition(end)[0]
    return rest


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
