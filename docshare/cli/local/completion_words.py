"""Words for completion, from small cache files. ``docshare __complete`` must answer while a person types.

So it asks no network, reads no configuration and imports next to nothing. Ordinary commands fill the cache as they
list and upload; what is cached stays until the next list, since an old word is better than none. One file per kind,
server and account holds ``value<TAB>description`` lines; ``home-NAME`` holds the origin and the account of a profile,
``current`` the name of the default profile, and ``online`` the profiles that have ``complete_online`` on: for them
words older than ``FRESH_S`` are asked for anew.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping

from docshare.cli.local.paths import directory

_VALUE = "_.:/@-"
_DESCRIPTION = " .,()@+-_"
_LONGEST = 60
FRESH_S = 60.0
BUILT_IN_ORIGIN = "http://127.0.0.1:8787"
_ASKED_FOR = ("files", "webhooks")  # what a server can list without being told more
_MOST = 2000  # lines; a shell that gets more becomes slow


def answer(argv: list[str], env: Mapping[str, str] = os.environ) -> int:
    """``docshare __complete KIND [PREFIX]``: print matching lines. Never fails: a shell is waiting."""
    kind, prefix = (*argv, "", "")[:2]
    if kind in _ASKED_FOR and _is_stale(kind, env):
        from docshare.cli.completion.online import refresh

        refresh(kind, env)
    found = "".join(line + "\n" for line in read(kind, env) if line.startswith(prefix))
    try:
        sys.stdout.buffer.write(found.encode("utf-8"))
        sys.stdout.flush()
    except OSError:
        return 1
    return 0


def read(kind: str, env: Mapping[str, str]) -> list[str]:
    """The cached lines of a kind (files, variants, profiles), made safe again: the cache is a file like any other."""
    root = _root(env)
    name = "profiles" if kind == "profiles" else _file_name(kind, root, env)
    return [safe for line in _lines(root, name) if (safe := safe_line(*line.partition("\t")[::2]))]


def _is_stale(kind: str, env: Mapping[str, str]) -> bool:
    """Whether the words of a kind are to be asked for. Counts as asked from now on, so that a server that does not
    answer holds up one TAB in a minute and no more."""
    root = _root(env)
    profile = _profile(root, env)
    if not profile or profile not in _lines(root, "online"):
        return False
    path = os.path.join(root, _file_name(kind, root, env))
    try:
        if 0 <= time.time() - os.stat(path).st_mtime < FRESH_S:
            return False
        os.utime(path)
    except OSError:
        return _touched(path)
    return True


def _touched(path: str) -> bool:
    try:
        with open(path, "a", encoding="utf-8"):
            return True
    except OSError:
        return False


def _root(env: Mapping[str, str]) -> str:
    return os.path.join(directory("cache", env), "complete")


def _profile(root: str, env: Mapping[str, str]) -> str:
    return env.get("DOCSHARE_PROFILE") or _line(root, "current")


def _file_name(kind: str, root: str, env: Mapping[str, str]) -> str:
    origin, _, account = _line(root, f"home-{_profile(root, env)}").partition("\t")
    url, token = env.get("DOCSHARE_URL", "").strip(), env.get("DOCSHARE_TOKEN", "").strip()
    return file_name(kind, origin_of(url) if url else origin or BUILT_IN_ORIGIN, digest(token) if token else account)


def file_name(kind: str, origin: str, account: str) -> str:
    """The name of the cache file with the words of ``kind`` for one account of one server."""
    return f"{kind}-" + "".join(char if char.isalnum() or char in ".-" else "_" for char in f"{origin}-{account}")


def origin_of(url: str) -> str:
    """Scheme, host and unusual port of a URL, as ``client.address.origin_of``, which costs more to load than this."""
    scheme, _, rest = url.partition("://")
    host = rest.replace("?", "/").replace("#", "/").partition("/")[0].rpartition("@")[2]
    port = {"https": ":443", "http": ":80"}.get(scheme.lower(), ":")
    return f"{scheme}://{host.removesuffix(port)}".lower()


def digest(token: str) -> str:
    """A name for the account behind a credential that nobody else can turn back into the credential."""
    from hashlib import sha256

    return sha256(token.encode(errors="surrogateescape")).hexdigest()[:16]


def safe_line(value: str, description: str) -> str:
    """``value<TAB>description`` without any character that means something to a shell; empty if no value is left."""
    if not value or not all(char.isascii() and (char.isalnum() or char in _VALUE) for char in value):
        return ""
    words = "".join(char for char in description if char.isalnum() or char in _DESCRIPTION)
    return f"{value}\t{words[:_LONGEST].strip()}".rstrip()


def file_lines(files: Iterable[Mapping[str, object]]) -> list[str]:
    """The lines for a list of File objects: short id (or UUID) and name, and ``slug:NAME`` where there is one."""
    lines: list[str] = []
    for file in files:
        name = str(file.get("originalName", ""))
        lines.append(safe_line(str(file.get("shortId") or file.get("uuid", "")), name))
        if file.get("slug"):
            lines.append(safe_line(f"slug:{file['slug']}", name))
    return [line for line in lines if line][:_MOST]


def variant_lines(variants: Iterable[Mapping[str, object]]) -> list[str]:
    """The lines for a list of Variant objects: short id (or UUID) and label."""
    lines = (
        safe_line(str(each.get("shortId") or each.get("uuid", "")), str(each.get("label", ""))) for each in variants
    )
    return [line for line in lines if line][:_MOST]


def webhook_lines(webhooks: Iterable[Mapping[str, object]]) -> list[str]:
    """The lines for a list of Webhook objects: UUID and host. What follows the host may be a secret of the receiver."""
    lines = (safe_line(str(each.get("uuid", "")), _host(str(each.get("url", "")))) for each in webhooks)
    return [line for line in lines if line][:_MOST]


def _host(url: str) -> str:
    rest = url.partition("://")[2]
    for end in "/?#:":
        rest = rest.partition(end)[0]
    return rest


def _line(root: str, name: str) -> str:
    return next(iter(_lines(root, name)), "")


def _lines(root: str, name: str) -> list[str]:
    if "/" in name or os.sep in name:
        return []
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as lines:
            return lines.read().split("\n")
    except OSError:
        return []
