"""Cached data for later commands: the last upload (``@last``) and completion words.

Both are optional: if they cannot be written (a read-only home), the command continues without them.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from docshare.cli.framework.exits import Stop
from docshare.cli.local.accounts import forget_credential, list_names, resolve_account, resolve_account_online
from docshare.cli.local.paths import cache_file_name, format_line
from docshare.cli.local.storage import hold_lock, replace_file
from docshare.private_files import read_file

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context
    from docshare.client import Client

_LAST_UPLOAD_FILE = "last.json"
_MAX_LAST_UPLOADS = 100
_MAX_LINES = 2000  # more lines would slow down the shell


def remember_last_upload(context: "Context", file: Mapping[str, Any]) -> None:
    """Store ``uuid``, ``shortId`` and ``shareUrl`` of an upload as ``@last`` of the account in effect.

    If the account is unknown, store it under the name of the credential, where ``load_last_upload`` finds it later.
    """
    account, origin = resolve_account(context), context.connection.cache_origin
    _store_last_upload(
        context,
        f"{origin} {account}",
        {key: file[key] for key in ("uuid", "shortId", "shareUrl") if key in file},
        superseded={f"{origin} {name}" for name in list_names(context, account)},
    )


def load_last_upload(context: "Context", client: "Client | None" = None) -> dict[str, Any] | None:
    """Return the last upload of the account in effect, or None.

    ``client`` fetches the account of a new credential if another credential has uploaded to the server. Without it,
    nothing is sent. Raise as ``resolve_account_online`` does: the wrong file is worse than none.
    """
    rows, origin = _load_all_last_uploads(context), context.connection.cache_origin
    is_shared = any(key.startswith(f"{origin} ") for key in rows if key != f"{origin} {context.connection.account}")
    account = resolve_account_online(context, client) if client is not None and is_shared else resolve_account(context)
    keys = {f"{origin} {name}" for name in list_names(context, account)}
    newest_first = (row for key, row in reversed(rows.items()) if key in keys)
    return next((row for row in newest_first if isinstance(row, dict) and isinstance(row.get("uuid"), str)), None)


def move_last_upload(context: "Context", account: str, old_origin: str, new_origin: str) -> None:
    """Keep ``@last`` of an account whose server has a new origin."""
    found = _load_all_last_uploads(context).get(f"{old_origin} {account}")
    if found and old_origin != new_origin:
        _store_last_upload(context, f"{new_origin} {account}", found)


def _store_last_upload(context: "Context", key: str, kept: Mapping[str, Any], superseded: Collection[str] = ()) -> None:
    """Store an upload as the newest of the file, in place of those with the ``superseded`` keys."""
    import json

    with suppress(Stop), hold_lock(context.state_dir / ".lock"):
        rows = {
            name: row
            for name, row in _load_all_last_uploads(context).items()
            if " " in name and name != key and name not in superseded
        }  # without a space: an older format, by profile
        newest = dict([*rows.items(), (key, kept)][-_MAX_LAST_UPLOADS:])
        replace_file(context.state_dir / _LAST_UPLOAD_FILE, json.dumps(newest, indent=2) + "\n", private=True)


def _load_all_last_uploads(context: "Context") -> dict[str, Any]:
    import json  # here: importing it takes 1.6 % of the instructions of ``settings set --help``

    try:
        data = json.loads(read_file(context.state_dir / _LAST_UPLOAD_FILE).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def remember_files(context: "Context", files: Iterable[Mapping[str, Any]]) -> None:
    """Cache the ids of files for completion."""
    _store_completions(context, "files", format_file_lines(files))


def remember_variants(context: "Context", variants: Iterable[Mapping[str, Any]]) -> None:
    """Cache the ids and labels of variants for completion."""
    _store_completions(context, "variants", format_variant_lines(variants))


def remember_webhooks(context: "Context", webhooks: Iterable[Mapping[str, Any]]) -> None:
    """Cache the UUIDs and hosts of webhooks for completion."""
    _store_completions(context, "webhooks", format_webhook_lines(webhooks))


def _store_completions(context: "Context", kind: str, lines: Iterable[str]) -> None:
    connection, account = context.connection, resolve_account(context)
    name = str(connection.profile.value or "")
    _write_completions(context, cache_file_name(kind, connection.cache_origin, account), lines)
    if name and not connection.is_overridden:
        _write_completions(context, f"home-{name}", [f"{connection.cache_origin}\t{account}"])
    with suppress(OSError):
        (context.cache_dir / "complete" / f"{kind}-{name}").unlink(missing_ok=True)  # older format, by profile
    if not context.options.profile and not context.env.get("DOCSHARE_PROFILE"):
        remember_default(context, name)
    remember_online(context, context.config.profiles)


def remember_online(context: "Context", profiles: Mapping[str, Mapping[str, Any]]) -> None:
    """Cache the names of the ``profiles`` for which completion may contact the server, as it reads no configuration."""
    names = [name for name, values in profiles.items() if values.get("complete_online")]
    if names or (context.cache_dir / "complete" / "online").is_file():
        _write_completions(context, "online", names)


def forget_home(context: "Context", name: str) -> None:
    """Forget the account of the login of the profile ``name``, and stop completion from offering its ids."""
    forget_credential(context, name)
    with suppress(OSError):
        (context.cache_dir / "complete" / f"home-{name}").unlink(missing_ok=True)


def remember_profiles(context: "Context", urls: Mapping[str, str]) -> None:
    """Cache the names of the profiles for completion."""
    _write_completions(context, "profiles", [format_line(name, url) for name, url in urls.items()])


def remember_default(context: "Context", name: str) -> None:
    """Cache the name of the default profile for completion, which reads no configuration."""
    _write_completions(context, "current", [name])


def _write_completions(context: "Context", name: str, lines: Iterable[str]) -> None:
    path = context.cache_dir / "complete" / name
    text = "\n".join(lines) + "\n"
    with suppress(Stop, OSError):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            replace_file(path, text)


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
