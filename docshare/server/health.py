"""``/healthz``: 200 once database and storage answer (gap-choices, Addresses outside /api/v1)."""

import os
import sqlite3

import peewee
from flask import Flask, Response

from docshare.server.logs import LOGGER
from docshare.server.shell import rt

PATH = "/healthz"


def register(app: Flask) -> None:
    """Answer health checks."""
    app.add_url_rule(PATH, "health", _answer, methods=["GET"])


def _answer() -> Response:
    healthy = _database_answers() and _storage_answers()
    return Response(
        "ok\n" if healthy else "unavailable\n",
        200 if healthy else 503,
        headers={"Cache-Control": "no-store"},
        content_type="text/plain; charset=utf-8",
    )


def _database_answers() -> bool:
    try:
        return rt().db.row("SELECT 1 FROM sqlite_master") is not None
    except (peewee.DatabaseError, sqlite3.Error):
        LOGGER.exception("the database does not answer")
        return False


def _storage_answers() -> bool:
    data_dir = rt().config.data_dir
    return all(os.access(data_dir / name, os.W_OK | os.X_OK) for name in ("blobs", "tmp"))
