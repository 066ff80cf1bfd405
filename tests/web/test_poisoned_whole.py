"""The poisoned document of the XSS tests has hostile text in every stored field of a file."""

from typing import Any

from docshare.server.store.tables import TABLES
from tests.support.browsers.poisoned_file import PAYLOAD_BATCHES, PoisonedFile
from tests.support.people.cast import World

# Text written by the server or never displayed: digests, numbers in JSON, and words from a list.
SERVER_TEXTS = {
    "annotations": {"rect"},
    "assets": {"kind", "mime_type", "blob"},
    "beacons": {"body", "accepted"},
    "download_rows": {"country"},
    "file_tokens": {"digest", "kind"},
    "files": {"short_id", "mime_type", "page_sizes", "sha256", "blob", "password_hash", "download_warning"},
    "grants": {"kind", "seal"},
    "hotspots": {"rect"},
    "invites": {"short_id"},
    "marks": {"mark"},
    "readers": {"reader"},
    "revisions": {"sha256"},
    "tallies": {"kind"},
    "variants": {"short_id", "overrides", "download_warning"},
    "view_rows": {"country"},
    "view_sessions": {"opening", "class"},
    "viewers": {"digest"},
    "webhooks": {"listens_on"},
}
# Text of the owner or of readers that no page displays, only JSON responses.
UNSHOWN_TEXTS = {
    "activity_rows": {"event", "data"},
    "deliveries": {"event", "body"},
    "denials": {"reason"},
    "designs": {"design_user", "design"},
    "mails": {"recipient", "subject", "body", "error", "notice"},
    "revisions": {"original_name"},
    "webhooks": {"url", "peer", "format", "events"},
}


def list_text_columns() -> dict[str, set[str]]:
    """Return the text columns by table, for ``files`` and all tables whose rows belong to a file. API keys belong to an
    account."""
    found = {}
    for model in TABLES:
        table: Any = model
        columns = {field.column_name: field.field_type for field in table._meta.sorted_fields}
        if table._meta.table_name == "files" or ("file_id" in columns and table._meta.table_name != "api_keys"):
            texts = {name for name, kind in columns.items() if kind == "TEXT"}
            found[table._meta.table_name] = texts - {"uuid"}
    return {table: texts for table, texts in found.items() if texts}


def test_every_text_that_a_page_could_display_is_poisoned(world: World) -> None:
    file = PoisonedFile(world, read=True)
    file.store_everywhere(PAYLOAD_BATCHES[0])
    tables = list_text_columns()
    assert {"files", "notes", "variants", "view_sessions", "tallies"} <= tables.keys()
    unpoisoned = []
    for table, columns in tables.items():
        for column in columns - SERVER_TEXTS.get(table, set()) - UNSHOWN_TEXTS.get(table, set()):
            values = world.rt.db.fetch_all(f"SELECT {column} FROM {table}", ())
            if not any("pwned" in (text or "") for (text,) in values):
                unpoisoned.append(f"{table}.{column}")
    assert unpoisoned == []
