"""Fetch completion words from the server, if ``complete_online`` allows it: fast or not at all."""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from docshare.cli.framework.clients import build_client
from docshare.cli.framework.context import Context
from docshare.cli.framework.options import GlobalOptions
from docshare.cli.local import cache, credentials

if TYPE_CHECKING:
    from docshare.client import Client

TIME_LIMIT_S = 0.8


def refresh(kind: str, env: Mapping[str, str]) -> None:
    """Fetch and cache the words of ``kind`` (files, webhooks) from the server in effect.

    Return after at most ``TIME_LIMIT_S`` seconds and never fail, because a shell is waiting.
    """
    worker = threading.Thread(target=_fetch, args=(kind, env), daemon=True)
    worker.start()
    worker.join(TIME_LIMIT_S)


def _fetch(kind: str, env: Mapping[str, str]) -> None:
    with suppress(Exception), open(os.devnull, "r+", encoding="utf-8") as nothing:  # on failure, keep the cached words
        context = Context(
            env=env,
            streams=(nothing, nothing, nothing),
            terminals=(False, False, False),
            now=lambda: time.time_ns() // 1_000_000,
            monotonic=time.monotonic,
            sleep=time.sleep,
            open_browser=lambda url: False,
        )
        context.options = GlobalOptions(quiet=True, no_input=True, timeout=TIME_LIMIT_S, retries=0)
        token = _read_token(context)
        if token is not None:
            with build_client(context, str(context.connection.url.value), token) as client:
                _store(context, client, kind)


def _read_token(context: Context) -> str | None:
    """Return the credential if it is readily available, else None.

    Completion runs no token_command and refreshes no token: its time limit could interrupt either halfway.
    """
    connection = context.connection
    if connection.token is None or isinstance(connection.token, str):
        return connection.token
    name = str(connection.profile.value)
    saved = credentials.load(context.config_dir, name)
    if saved is None or "token_command" in context.config.profiles[name] or saved.is_due(context.now()):
        return None
    return saved.token


def _store(context: Context, client: "Client", kind: str) -> None:
    if kind == "files":
        cache.remember_files(context, client.files.list())
    else:
        cache.remember_webhooks(context, client.webhooks.list())
