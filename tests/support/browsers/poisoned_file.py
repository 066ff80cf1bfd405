"""A document of Pia in which every stored text would run as a script if a page inserted it as markup.

The rows are inserted directly into the database, because the API rejects many of these texts, and pages must not rely
on that. Where a file has many texts of a kind, each is one payload; ``store_everywhere`` sets all others.
"""

import json
from collections.abc import Iterable
from itertools import cycle
from typing import Any

from docshare.server.services.accounts.callers import digest
from docshare.server.services.readership import rollups
from tests.support.documents.pdfs import A4, Sheet, escape_text, lines_content, sheets_pdf, simple_pdf
from tests.support.engines.database import ON_POSTGRESQL
from tests.support.outside.payloads import MARKUP_PAYLOADS, XSS
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, RECT

STORABLE_PAYLOADS = tuple(text for text in (*XSS, *MARKUP_PAYLOADS) if "\ud800" not in text)  # not valid in UTF-8
PAYLOAD_BATCHES = tuple(" ".join(STORABLE_PAYLOADS[start::4]) for start in range(4))
PAGES = 3
READER = "a" * 40  # the token of a reader who left feedback of each kind

_FIELD = {"type": "text", "required": False}
_BUTTON = "https://ok.example/?'onmouseover='pwned()'&quot;//{{pwned()}}"  # the most hostile URL that is accepted
_ADDRESS = {"key": "mail", "label": "Email", "type": "email", "required": True}


def poisoned_pdf() -> bytes:
    """Return a document with all payloads as words and as links, with and without a web address."""
    shown = [text.replace("\n", " ") for text in STORABLE_PAYLOADS if "\x00" not in text]
    sheets = []
    for page in range(PAGES):
        here = shown[page::PAGES]
        links = [_make_link_annotation(row, f"https://ok.example/{text}") for row, text in enumerate(here)]
        links += [_make_link_annotation(row, text) for row, text in enumerate(here)]
        sheets.append(Sheet(lines_content("\n".join(here), size=7, top=800, left=20), A4, annots=links))
    return sheets_pdf(sheets)


def _make_link_annotation(row: int, address: str) -> str:
    top = 805 - 10 * row
    rect = f"/Subtype /Link /Border [0 0 0] /Rect [20 {top - 8} 560 {top}]"
    return f"<< /Type /Annot {rect} /A << /S /URI /URI {escape_text(address)} >> >>"


class PoisonedFile:
    """The document. ``name``: its short id; ``uuid``: its UUID."""

    def __init__(self, world: World, *, read: bool) -> None:
        """Create the file. ``read``: with sessions and feedback of many readers."""
        self._world = world
        made = world.pia.upload(poisoned_pdf() if read else simple_pdf(), name="deck.pdf")
        put_settings(world, made, allowDownload=True, **ALL_FEEDBACK_SETTINGS)
        self.name: str = made["shortId"]
        self.uuid: str = made["uuid"]
        self._number = self._query_value("SELECT id FROM files WHERE uuid = ?", self.uuid)
        if read:
            with world.rt.db.write():
                self._insert_readers()
                self._insert_sessions()

    def store_everywhere(self, text: str, *, mode: str = "standard", **columns: Any) -> None:
        """Set every single text of the file and its owner to ``text``, and other ``columns`` of the file."""
        looks = {"viewerMode": mode, "viewerSettings": self._make_viewer_settings(text), "watermark": text}
        settings = ALL_FEEDBACK_SETTINGS | {"allowDownload": True} | looks
        values = {
            "original_name": text,
            "slug": f"{text} {self.name}",
            "settings": json.dumps(settings),
            "password_hash": None,
            **columns,
        }
        names = ", ".join(f"{name} = ?" for name in values)
        db = self._world.rt.db
        with db.write():
            db.execute(f"UPDATE files SET {names} WHERE id = ?", (*values.values(), self._number))
            # Not the part before the "@", which would not be shown as the name of the sender.
            names_of_owner = (text, f"{text} Ltd", self._world.pia.uuid)
            db.execute("UPDATE accounts SET email = ?, name = ? WHERE uuid = ?", names_of_owner)

    def set_gate(self, texts: Iterable[str], name: str) -> None:
        """Require a password and a form whose keys and labels are ``texts``; ``name``: the name of the file."""
        form = [{"key": text, "label": text, **_FIELD} for text in texts]
        self.store_everywhere(name, password_hash="none")
        settings = json.dumps({"requireEmail": True, "gateFields": [*form, _ADDRESS]})
        with self._world.rt.db.write():
            self._world.rt.db.execute("UPDATE files SET settings = ? WHERE id = ?", (settings, self._number))

    @staticmethod
    def _make_viewer_settings(text: str) -> dict[str, Any]:
        """Return all blocks, each with a value that a write would reject, except the text of the button."""
        label = "".join(filter(str.isprintable, text))[:40]
        return {
            "background": {"type": "image", "color": text, "assetId": text, "fit": text, "blur": text},
            "logo": {"assetId": text, "position": text, "size": text, "linkUrl": text},
            "page": {"shadow": text},
            "brand": {"accentColor": text, "toolbarTheme": text, "badgePosition": text},
            "cta": {"label": label, "url": _BUTTON, "style": text},
            "ga4Id": text,
        }

    def _insert_readers(self) -> None:
        """Insert all readers with feedback; the first one leaves each kind twice."""
        uuid, rect = self._world.rt.random_uuid, json.dumps(RECT)
        first = self._insert_row("viewers", digest=digest(READER), pseudonym=PAYLOAD_BATCHES[0], created_at=0)
        self._insert_row("receipts", viewer_id=first, content_version=1, name=" ".join(PAYLOAD_BATCHES), confirmed_at=0)
        for place, text in enumerate(STORABLE_PAYLOADS):
            said = {"created_at": place, "page": place % PAGES + 1}
            viewer = self._insert_reader(place, text)
            self._insert_row("marks", viewer_id=viewer, content_version=1, mark="pick", marked_at=0, page=said["page"])
            self._insert_row("receipts", viewer_id=viewer, content_version=1, name=text, confirmed_at=0)
            for who in (first, viewer):
                note = {"viewer_id": who, "author": text, "body": text, "public": int(who == viewer)}
                self._insert_row("notes", uuid=uuid(), **note, **said)
                self._insert_row(
                    "annotations", uuid=uuid(), viewer_id=who, content_version=1, rect=rect, note=text, **said
                )
            for address in (text, f"https://ok.example/{text}"):
                self._insert_row("hotspots", uuid=uuid(), rect=rect, label=text, url=address, **said)
            fields = json.dumps(dict.fromkeys(PAYLOAD_BATCHES, text))
            self._insert_row("gate_rows", owner_id=self._update_owner(), read_at=1, fields=fields)

    def _insert_reader(self, place: int, text: str) -> int:
        """Insert a reader of the link itself, of an invitee's, or of a variant."""
        uuid, made = self._world.rt.random_uuid, {"created_at": 0}
        email = f"{text}{place}"  # unique for each invitee, ignoring case
        invite = self._insert_row("invites", uuid=uuid(), short_id=f"i{place:011d}", email=email, name=text, **made)
        variant = self._insert_row("variants", uuid=uuid(), short_id=f"v{place:011d}", label=text, **made)
        came = ({}, {"invite_id": invite}, {"variant_id": variant})[place % 3]
        return self._insert_row("viewers", digest=str(place), pseudonym=text, email=text, name=text, **made, **came)

    def _insert_sessions(self) -> None:
        """Insert as many sessions as the report shows, with all names, and aggregate them."""
        viewers = [row[0] for row in self._world.rt.db.fetch_all("SELECT id FROM viewers ORDER BY id")]
        invites = [row[0] for row in self._world.rt.db.fetch_all("SELECT id FROM invites ORDER BY id DESC")]
        zeros = dict.fromkeys(("prefetched", "earliest_at", "last_seq", "visible_ms", "turns", "back_turns", "part"), 0)
        now = self._world.rt.clock()
        for place, text in zip(range(50), cycle(PAYLOAD_BATCHES), strict=False):
            told = dict.fromkeys(("country", "device", "browser", "source", "referrer", "viewer_mode", "reason"), text)
            told |= {"email": text, "name": text}
            times = dict.fromkeys(("started_at", "heard_at", "active_at", "counted_at", "ended_at"), now - place)
            names = {
                "uuid": self._world.rt.random_uuid(),
                "opening": str(place),
                "reader": f"{text}{place}",
                "class": "human",
            }
            seen = {"total_pages": PAGES, "pages_viewed": 1, "furthest_page": 1, "shown_pages": PAGES, "time_ms": 9_000}
            who = {"viewer_id": viewers[place], "invite_id": invites[place]}
            number = self._insert_row(
                "view_sessions", content_version=1, **zeros, **told, **times, **names, **seen, **who
            )
            rollups.record_reader(self._world.rt, number)
            rollups.roll_up(self._world.rt, number)

    def _update_owner(self) -> int:
        return self._query_value("SELECT owner_id FROM files WHERE id = ?", self._number)

    def _insert_row(self, table: str, **columns: Any) -> int:
        columns = {"file_id": self._number, **columns}
        marks = ", ".join("?" for _ in columns)
        self._world.rt.db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", (*columns.values(),))
        return self._query_value("SELECT lastval()" if ON_POSTGRESQL else "SELECT last_insert_rowid()")

    def _query_value(self, query: str, *params: Any) -> int:
        found = self._world.rt.db.fetch_one(query, params)
        assert found is not None
        return int(found[0])
