"""A server with an owner, readers and documents whose pages are looked at; people write in one of several scripts."""

from __future__ import annotations

import io
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from playwright.sync_api import BrowserContext

from docshare.server.pdf.engine import PdfEngine
from tests.support.clock import FakeClock
from tests.support.documents.images import make_mp3_frame, make_picture
from tests.support.documents.outlines import OutlineRow, add_outline
from tests.support.documents.pdfs import A4, Sheet, lines_content, sheets_pdf
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.owner.forms import submit_form
from tests.support.people.cast import Person, World, close_world, make_runtime, make_world
from tests.support.people.cookie_routes import OwnerAndReader, make_owner_and_reader
from tests.support.people.feedback_client import FeedbackClient
from tests.support.people.reader import end_all_sessions, read_as_six_people
from tests.support.servers.in_process_server import serve_world

COOKIE = "docshare_session"
STAGE_SETTINGS: dict[str, Any] = {
    "rate_limit": 100_000,
    "trusted_proxies": (ipaddress.ip_network("127.0.0.1/32"),),
}
"""Settings of a server for many readers on this host."""


@dataclass(frozen=True)
class Words:
    """Texts of people: ``deck`` and ``annex`` are names of documents, ``owner`` and ``reader`` of persons."""

    deck: str
    annex: str
    owner: str
    reader: str
    label: str
    message: str


LATIN = Words(
    "Series A deck.pdf",
    "Jahresabschlussbericht_und_Lagebericht_der_Gesellschaft_2026_endgueltig_v12.pdf",
    "Pia Lindqvist",
    "Ann Lee",
    "Northwind",
    "Where are the churn figures? The table on this page ends in March.",
)
ARABIC = Words(
    "العرض التقديمي للمستثمرين.pdf",
    "תקציר מנהלים לשנת 2026 — طبعة نهائية.pdf",
    "ليلى الحداد",
    "דנה כהן",
    "مجموعة الأفق",
    "أين أرقام التسرب؟ ينتهي الجدول في هذه الصفحة عند شهر مارس (Q1).",
)
CHINESE = Words(
    "二〇二六年度投资人简报及财务报表.pdf",
    "株主総会招集通知および事業報告書類一式（最終版）第十二稿.pdf",
    "山田太郎",
    "김민수",
    "北风贸易有限公司",
    "流失率的数据在哪里？本页的表格只到三月为止，请补充后续月份的数字。",
)
OUTLINE: tuple[OutlineRow, ...] = (
    (0, 1, "Preface"),
    (0, 2, "Part I"),
    (1, 3, "Methods and materials"),
    (2, 5, "Sampling"),
    (0, 9, "Part II"),
)

_LINES = (
    "Revenue of the second quarter grew by 12% over the first. Most of it came from",
    "renewals in the north; the new region contributed 4%. Costs rose more slowly than",
    "planned, because the two offices share one warehouse since March.",
    "",
    "The board asks three questions of each proposal: what it costs in the first year,",
    "who is affected if it is late, and how we would notice that it does not work.",
)


def make_deck(pages: int = 12) -> bytes:
    """Return a document with a table of contents and pages of text."""
    sheets = [
        Sheet(
            f"{lines_content(f'Page {number} of {pages}', size=26, top=740)} "
            f"{lines_content(chr(10).join((*_LINES, '') * 3), size=12, top=690, leading=1.5)}",
            A4,
        )
        for number in range(1, pages + 1)
    ]
    return add_outline(sheets_pdf(sheets), [row for row in OUTLINE if row[1] is not None and row[1] <= pages])


class Stage:
    """The server at ``url``.

    ``pair``: Pia, who is signed in and owns ``pair.uploaded_file``, which people have read; ``done``: names of changes
    that are made once; ``made``: paths of what they made, by name.
    """

    def __init__(self, world: World, url: str, words: Words = LATIN) -> None:
        self.world, self.url, self.words = world, url, words
        self.done: set[str] = set()
        self.made: dict[str, str] = {}
        self._shared: dict[str, dict[str, Any]] = {}
        self._signed_in: dict[str, FlaskClient] = {}
        self.pair: OwnerAndReader = make_owner_and_reader(world)
        self.set_content()

    def set_content(self) -> None:
        """Give Pia her name, and her file its pages, readers and feedback."""
        world, words, made = self.world, self.words, self.pair.uploaded_file
        submit_form(self.pair.browser, "/account/name", name=words.owner)
        self.send(world.pia, f"/files/{made['uuid']}/content", file=make_deck())
        update_file_row(world, made["uuid"], original_name=words.deck)
        read_as_six_people(world, made["shortId"])
        reader = FeedbackClient(world, made["shortId"])
        reader.leave_note(words.message, author=words.reader, page=1, public=True)
        reader.leave_note(words.message, author=words.reader, page=4)
        reader.mark_page(2, "pick")
        reader.annotate(3, words.message)
        end_all_sessions(world)

    def send(self, person: Person, path: str, *, file: bytes | None = None, **fields: Any) -> dict[str, Any]:
        """Send ``fields`` to ``path`` of the API: as a form with ``file``, otherwise as JSON."""
        sent: dict[str, Any] = (
            {"json": fields} if file is None else {"data": fields | {"file": (io.BytesIO(file), "file.pdf")}}
        )
        answer = person.post(f"/api/v1{path}", **sent)
        assert answer.status_code in (200, 201), answer.text
        found: dict[str, Any] = answer.get_json()
        return found

    def share(self, key: str, content: bytes | None = None, **settings: Any) -> dict[str, Any]:
        """Return the upload result of the document ``key`` of Pia, which is uploaded on the first call."""
        if key not in self._shared:
            made = self._shared[key] = self.world.pia.upload(content or make_deck(), name=self.words.deck)
            put_settings(self.world, made, **settings)
        return self._shared[key]

    def add_assets(self, made: dict[str, Any]) -> dict[str, str]:
        """Upload a logo, a background and a sound to the file; return their ids by kind."""
        content = {
            "logo": make_picture(size=(300, 100)),
            "background": make_picture("JPEG", (800, 500)),
            "hotspot-audio": make_mp3_frame() * 400,
        }
        path = f"/files/{made['uuid']}/assets"
        pia = self.world.pia
        return {kind: self.send(pia, path, file=body, kind=kind)["assetId"] for kind, body in content.items()}

    @contextmanager
    def allow_anonymous_uploads(self) -> Iterator[None]:
        """Allow uploads without an account for the length of the block."""
        rt = self.world.rt
        config = rt.config
        # The runtime is frozen, because only tests change the configuration of a running server.
        object.__setattr__(rt, "config", replace(config, anonymous_uploads=True, anonymous_limit=20_000))
        try:
            yield
        finally:
            object.__setattr__(rt, "config", config)

    def sign_in(self, context: BrowserContext, name: str) -> None:
        """Sign in the person ``name`` in the browser of ``context``."""
        if name == "pia":
            http = self.pair.browser
        elif name not in self._signed_in:
            http = self._signed_in[name] = sign_in_browser(self.world, getattr(self.world, name))
        else:
            http = self._signed_in[name]
        cookie = http.get_cookie(COOKIE)
        assert cookie is not None
        context.add_cookies([{"name": COOKIE, "value": cookie.value, "url": self.url}])


@contextmanager
def open_stage(folder: Path, words: Words = LATIN) -> Iterator[Stage]:
    """Yield a stage on a server whose data is in ``folder``."""
    clock, engine = FakeClock(), PdfEngine(workers=1)
    world = make_world(make_runtime(folder, clock, engine, **STAGE_SETTINGS), clock)
    try:
        with serve_world(world) as url:
            yield Stage(world, url, words)
    finally:
        close_world(world)
        engine.close()
