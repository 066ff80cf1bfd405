"""Share the files of ``docshare serve``, print who reads them, set up the local profile, and print the next steps."""

import hashlib
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.events.options import TailOptions
from docshare.cli.commands.events.selection import choose_streams
from docshare.cli.commands.events.tail import follow
from docshare.cli.framework.context import Context, activate
from docshare.cli.local import cache
from docshare.cli.local.config import save_profile
from docshare.cli.local.credentials import Credential, load, save
from docshare.client.address import parse_origin
from docshare.client.login.local_server import LOCAL_PROFILE
from docshare.contract.problems import Problem
from docshare.contract.streams import DEFAULT_STREAM

if TYPE_CHECKING:
    from docshare.server.instance import Instance
    from docshare.server.services.accounts.accounts import FirstRunResult


def share(ctx: Context, paths: Sequence[Path]) -> list[str]:
    """Upload ``paths`` and print their links. A document with the same name and bytes keeps its link. The last file
    becomes ``@last``."""
    links = []
    with ctx.client() as client:
        known = {(row.get("sha256"), row["originalName"]): row for row in client.files.list()}
        for path in paths:
            file: Mapping[str, Any] | None = known.get((_compute_digest(path), path.name))
            if file is None:
                with path.open("rb", buffering=0) as source:
                    file = client.files.upload(source, path.name)
            _store_last_upload(ctx, file)
            ctx.print(file["shareUrl"])
            links.append(str(file["shareUrl"]))
    ctx.flush()
    return links


def follow_readers(ctx: Context) -> None:
    """Print the readers of the shared files live until stopped."""
    with activate(ctx):
        follow(choose_streams([DEFAULT_STREAM]), TailOptions(backlog=0))


def _compute_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex, read in blocks."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def print_next_steps(ctx: Context, *, shared: bool, at_home: bool, kept: bool) -> None:
    """Print the next steps on a terminal. ``shared`` means that a link was printed, ``at_home`` that commands in
    another terminal find this server without options, ``kept`` that its data is permanent."""
    if ctx.options.quiet or not (ctx.stderr_tty and ctx.stdout_tty):
        return
    ctx.err("")
    for term, meaning in [*(_list_commands(shared) if at_home else []), _describe_stop(kept)]:
        ctx.err_raw(f"  {ctx.err_screen.paint('dim', f'{term:<19}')}{ctx.sanitize(meaning)}\n")
    ctx.err("")
    if shared:
        ctx.note("Open the link. Readers appear here within 20 seconds after they close it:")


def print_profile_hint(ctx: Context, profile: str, url: str, email: str) -> None:
    """Print how to create ``profile`` for the server of the owner ``email``, if no profile has its URL."""
    if not ctx.stderr_tty or any(each.get("url") == url for each in ctx.config.profiles.values()):
        return
    program = _program_name()
    ctx.note("no profile exists for this server; create one in another terminal:")
    ctx.note(f"  {program} admin key create {shlex.quote(email)} --template '{{key}}' |")
    ctx.note(f"    {program} profile add {profile} --url {shlex.quote(url)} --with-token")


def _list_commands(shared: bool) -> list[tuple[str, str]]:
    program = _program_name()
    wait, upload = ("Wait for a reader", f"{program} wait @last"), ("Share a document", f"{program} upload FILE")
    return [
        wait if shared else upload,
        ("See who read", f"{program} readership show @last"),
        ("In a browser", f"{program} dashboard"),
    ]


def _describe_stop(kept: bool) -> tuple[str, str]:
    return "Stop", "Ctrl-C; links, readers, and settings are kept" if kept else "Ctrl-C; all data is deleted"


def _store_last_upload(ctx: Context, file: Mapping[str, Any]) -> None:
    """Make ``file`` the ``@last`` of the current profile, unless the profile is for another server."""
    ours = {key: value for key, value in ctx.env.items() if key not in ("DOCSHARE_URL", "DOCSHARE_TOKEN")}
    home = ctx.derive(env=ours, sleep=ctx.sleep)
    if home.connection.origin in (ctx.connection.origin, parse_origin(str(file["shareUrl"]))):
        cache.remember_last_upload(home, file)


def set_up_profile(ctx: Context, instance: "Instance", first: "FirstRunResult") -> None:
    """Save the profile "local" for the server on the default data directory, unless another server uses it."""
    from docshare.server.services.accounts import callers

    url, owner = instance.rt.config.base_url, str(first.account.uuid)
    saved, api_key = load(ctx.config_dir, LOCAL_PROFILE), first.api_key
    if api_key is None and saved is None:  # such as a backup restored on another machine
        print_profile_hint(ctx, LOCAL_PROFILE, url, first.account.email)
    if api_key is None and saved is not None:
        try:
            caller = callers.authenticate(instance.rt, f"Bearer {saved.token}")
        except Problem:
            return  # the profile "local" belongs to another server; keep it
        api_key, owner = saved.token, str(caller.uuid)
    if api_key is None or (saved is not None and saved.token != api_key):
        if api_key and ctx.log is not None:
            ctx.note(
                f'profile "{LOCAL_PROFILE}" is in use; for a key run: docshare admin key create {first.account.email}'
            )
        elif api_key:
            ctx.err(f'profile "{LOCAL_PROFILE}" is in use; API key of the new owner (shown once): {api_key}')
        return
    save_profile(ctx.config_dir, LOCAL_PROFILE, {"url": url})
    save(ctx.config_dir, LOCAL_PROFILE, Credential(parse_origin(url), api_key, account=owner))
    cache.forget_home(ctx, LOCAL_PROFILE)
    if saved is None:
        ctx.note(f'first run: data in {instance.rt.config.data_dir}, profile "{LOCAL_PROFILE}" set up')
    else:
        cache.move_last_upload(ctx, owner, saved.origin, parse_origin(url))


def _program_name() -> str:
    """Return the name of this program, or its path if the shell would not find it by name."""
    called = sys.argv[0]
    return called if Path(called).name == "docshare" and shutil.which("docshare") is None else "docshare"
