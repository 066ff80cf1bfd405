"""The states of what an owner sees: files, settings, reports, account, webhooks, and signing in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts, invitations
from docshare.server.services.files import hotspots
from docshare.server.services.operations import unsubscribe
from tests.browser.every_page.pages import PAGES
from tests.browser.every_page.reader_states import FORM, find_instant
from tests.browser.every_page.states import PIA, Act, State, click, press, submit, unfold, visit
from tests.support.browsers.stage import Stage
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import insert_files, update_file_row
from tests.support.outside.receivers import record_replacements
from tests.support.people.cookie_routes import set_password
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.support.people.webhooks import update_webhook_row

VIEWERS = {"public.share_page", "public.embed_page"}


def list_pages() -> dict[str, State]:
    """Return the state of each page as it is opened."""
    return {
        endpoint: State(visit(lambda stage, find=find_address: find(stage.pair)), PIA, is_whole=endpoint not in VIEWERS)
        for endpoint, find_address in PAGES.items()
    }


def own(address: str | Callable[[Stage], str], *acts: Act, status: int = 200, person: str = PIA) -> State:
    """Open ``address`` as the signed-in owner, then act."""
    return State(visit(address, *acts), person, status)


def own_file(tail: str, *acts: Act, prefix: str = "/files", status: int = 200) -> State:
    """Open a page of the file that people have read, then act."""
    return own(lambda stage: f"{prefix}/{stage.pair.uploaded_file['uuid']}{tail}", *acts, status=status)


# --- files -------------------------------------------------------------------------------------------------------


def fill_library(stage: Stage) -> str:
    """Add files to Pia's library and return its path: one with many settings, a long name, and a link that ended."""
    stage.share("everything set", **find_every_setting(stage))
    made = stage.share("annex")
    update_file_row(stage.world, made["uuid"], original_name=stage.words.annex)
    update_file_row(stage.world, stage.share("over")["uuid"], delete_at=stage.world.clock.now - 1)
    return "/files"


def find_every_setting(stage: Stage) -> dict[str, Any]:
    return ALL_FEEDBACK_SETTINGS | {
        "password": "open sesame", "allowDownload": False, "requireEmail": True, "notifyOnView": True,
        "deleteAt": find_instant(stage.world, days=60), "viewLimit": 25, "pageRange": {"from": 2, "to": 9},
        "gateFields": FORM, "gateDomains": ["acme.example", "northwind.example"], "notifyOnComment": True,
        "watermark": True, "slug": "series-a", "showSender": False, "showExpiry": False, "readerChoice": False,
    }  # fmt: skip


def find_full_file(tail: str) -> Callable[[Stage], str]:
    """Return a function that returns the address of a page of the file with every setting."""

    def find_address(stage: Stage) -> str:
        fill_library(stage)
        return f"/files/{stage.share('everything set')['uuid']}{tail}"

    return find_address


def select_two(page: Page) -> None:
    for box in page.locator(".item-box").all()[:2]:
        box.check()


def send_text(page: Page) -> None:
    """Send a file that is not a document, and see the error beside it."""
    sent = {"name": "notes.pdf", "mimeType": "application/pdf", "buffer": b"hello"}
    page.locator("#file").set_input_files([sent])
    page.locator("#uploads .wrong").wait_for()


def fill_slots(stage: Stage) -> str:
    """Give Fay, on the free plan, as many files as it allows."""
    if "full" not in stage.done:
        stage.done.add("full")
        for number in range(3):
            stage.world.fay.upload(simple_pdf(), name=f"report {number + 1}.pdf")
    return "/files"


def fill_pages(stage: Stage) -> str:
    """Give Mal more files than one page of the list shows."""
    if "many" not in stage.done:
        stage.done.add("many")
        insert_files(stage.world, 130, stage.world.mal)
    return "/files?page=2"


def find_trash(stage: Stage) -> str:
    for key in ("gone", "gone too"):
        if key not in stage.done:
            stage.done.add(key)
            assert stage.world.pia.delete(f"/api/v1/files/{stage.share(key)['uuid']}").status_code == 200
    return "/trash"


LIBRARY_STATES: dict[str, State] = {
    "library": own(fill_library),
    "library.empty": own("/files", person="bea"),
    "library.full": own(fill_slots, person="fay"),
    "library.page 2": own(fill_pages, person="mal"),
    "library.no match": own("/files?q=nothing"),
    "library.matches": own(lambda stage: f"{fill_library(stage)}?q=pdf&sort=name"),
    "library.selection": own(fill_library, select_two),
    "library.upload error": own(fill_library, send_text, status=400),
    "library.keyboard": own(fill_library, press("?", "#keys")),
    "library.end links": own(fill_library, select_two, click("button[value=expire]", ".card h1")),
    "trash": own(find_trash),
    "trash.empty": own("/trash", person="bea"),
    "file.every setting": own(find_full_file("")),
    "file.unknown": own("/files/00000000-0000-4000-8000-000000000000", status=404),
}  # fmt: skip

WRONG_SETTINGS = {
    "c-slug": "Not a name", "c-gateDomains": "nowhere", "c-viewLimit": "-3", "c-pageRange-from": "9",
    "c-pageRange-to": "2", "c-password": "x", "c-commentsEnabled": "on",
}  # fmt: skip


def add_links(stage: Stage) -> str:
    """Create personal links, one of which is revoked, and invitations; return the path of the file."""
    path = f"/files/{stage.pair.uploaded_file['uuid']}"
    if "links" not in stage.done:
        stage.done.add("links")
        pia, words = stage.world.pia, stage.words
        made = [stage.send(pia, f"{path}/variants", label=label) for label in (words.label, words.reader, "Kim " * 40)]
        pia.put(f"/api/v1{path}/variants/{made[0]['uuid']}", json={"revoked": True})
        stage.send(pia, f"{path}/invites", email="ann@example.com", name=words.reader, mail=False)
        stage.send(pia, f"{path}/invites", email=f"{'long.' * 10}name@northwind.example", mail=False)
        FakeReader(stage.world, made[1]["shortId"], address="203.0.113.70").read_page(30, input=True)
        silent = FakeReader(stage.world, stage.pair.uploaded_file["shortId"], address="198.51.100.9")
        silent.read_page(7, input=False)
        end_all_sessions(stage.world)
    return path


def add_media(stage: Stage) -> str:
    """Add pictures, a sound, and a hotspot to the file, and return its path."""
    made = stage.pair.uploaded_file
    if "media" not in stage.done:
        stage.done.add("media")
        stage.add_assets(made)
        spot = {"page": "1", "rect": "0.1,0.1,0.3,0.1", "link": "https://film.example/one", "label": stage.words.label}
        hotspots.add(stage.world.rt, made["uuid"], spot)
    return f"/files/{made['uuid']}"


def replace_by_text(page: Page) -> None:
    """Send a new version that is not a document."""
    page.locator("#file").set_input_files([{"name": "n.pdf", "mimeType": "application/pdf", "buffer": b"hello"}])
    page.locator("form[data-upload] button[type=submit]").click()
    page.locator("form[data-upload] .wrong, form[data-upload] [role=alert]:not(:empty)").first.wait_for()


def find_first_link(stage: Stage) -> str:
    path = add_links(stage)
    rows = stage.world.pia.get(f"/api/v1{path}/variants").get_json()["variants"]
    return f"{path}/links/{rows[0]['uuid']}"


BOX = {"x": "10", "y": "10", "width": "20", "height": "10"}
FILE_STATES: dict[str, State] = {
    "settings.every setting": own(find_full_file("/settings"), unfold),
    "settings.unfolded": own_file("/settings", unfold),
    "settings.rejected": own_file("/settings", submit("form.stack", **WRONG_SETTINGS), status=400),
    "looks.every block": own_file("/looks", unfold),
    "looks.rejected": own_file(
        "/looks", submit("form:has([name^=viewerSettings])", **{"c-viewerSettings-cta-url": "film"}), status=400
    ),
    "links": own(lambda stage: f"{add_links(stage)}/links"),
    "links.rejected": own_file("/links", submit("form.stack", labels="x" * 201), status=400),
    "links.one": own(find_first_link),
    "invites": own(lambda stage: f"{add_links(stage)}/invites"),
    "invites.rejected": own_file("/invites", submit("form.stack", email="nobody"), status=400),
    "hotspots": own(lambda stage: f"{add_media(stage)}/hotspots"),
    "hotspots.rejected": own_file("/hotspots", submit("form.stack", **BOX, link="film"), status=400),
    "assets": own(lambda stage: f"{add_media(stage)}/assets"),
    "replace.rejected": own_file("/replace", replace_by_text, status=400),
}


# --- reports -----------------------------------------------------------------------------------------------------


def find_report(query: str) -> Callable[[Stage], str]:
    """Return a function that returns the address of the report with personal links and uncounted sessions."""
    return lambda stage: f"{add_links(stage).replace('/files', '/readership')}{query}"


def find_report_of(name: str, *, read: bool) -> Callable[[Stage], str]:
    """Return a function that returns the address of the report of a file of ``name``, with a session if ``read``."""

    def find_address(stage: Stage) -> str:
        key = f"report of {name} {read}"
        if key not in stage.done:
            stage.done.add(key)
            fill_slots(stage)
        files = getattr(stage.world, name).get("/api/v1/files").get_json()
        rows = files["files"] if isinstance(files, dict) else files
        made = rows[0] if rows else getattr(stage.world, name).upload(name=stage.words.deck)
        if read:
            FakeReader(stage.world, made["shortId"], address="203.0.113.71").read_page(30, input=True)
            end_all_sessions(stage.world)
        return f"/readership/{made['uuid']}"

    return find_address


def find_uncounted(page: Page) -> None:
    address = page.locator("a[href*='/sessions/']").last.get_attribute("href")
    page.goto(f"{'/'.join(page.url.split('/')[:3])}{address}")


REPORT_STATES: dict[str, State] = {
    "report": own(find_report("")),
    "report.7 days": own(find_report("?range=7d")),
    "report.own dates": own(find_report("?from=2026-09-22&to=2026-09-22")),
    "report.empty range": own(find_report("?from=2026-01-01&to=2026-01-31")),
    "report.unfolded": own(find_report(""), unfold),
    "report.not read": own(lambda stage: f"/readership/{stage.share('unread')['uuid']}"),
    "report.free": own(find_report_of("fay", read=True), person="fay"),
    "report.session not counted": own(find_report(""), find_uncounted),
    "report.sessions of days": own(find_report("/sessions?range=7d")),
    "report.empty account": own("/readership", person="bea"),
    "report.unknown": own("/readership/00000000-0000-4000-8000-000000000000", status=404),
}


# --- account and webhooks ----------------------------------------------------------------------------------------


def fill_account(stage: Stage) -> str:
    """Give Pia keys, an app and a password, and turn a notice off."""
    if "account" not in stage.done:
        stage.done.add("account")
        pair, rt = stage.pair, stage.world.rt
        pair.app.approve_and_exchange()
        set_password(pair)
        accounts.create_key(rt, pair.world.pia.email, "build server")
        accounts.create_key(rt, pair.world.pia.email, stage.words.annex)
        assert pair.browser.post(find_notice(stage), data={"notices": "off"}).status_code in (200, 303)
    return "/account"


def find_notice(stage: Stage) -> str:
    """Return the path of the page that turns a notice off."""
    ((ident,),) = stage.world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = 'pia@example.com'")
    return unsubscribe.build_link(stage.world.rt, ident, "views").removeprefix(stage.world.rt.config.base_url)


def create_webhook(stage: Stage) -> str:
    """Create a webhook with a long URL that was disabled after failed deliveries, and return its path."""
    if "webhook" not in stage.done:
        stage.done.add("webhook")
        uuid = stage.pair.create_webhook("content.replaced")
        record_replacements(stage.world, stage.pair.uploaded_file["uuid"], times=3)
        with stage.world.rt.db.write():
            stage.world.rt.db.execute("UPDATE deliveries SET next_at = NULL, abandoned_at = 1")
        url = "https://hook.example/" + "a-long-path-without-any-space-in-it/" * 4
        update_webhook_row(stage.world, uuid, disabled_at=stage.world.clock.now, url=url)
        stage.made["webhook"] = f"/webhooks/{uuid}"
    return stage.made["webhook"]


ACCOUNT_STATES: dict[str, State] = {
    "account": own(fill_account, unfold),
    "account.colleagues": own("/account", person="fay"),
    "account.no such name": own("/account", submit("form[action='/account/name']", name=" "), status=400),
    "account.invalid address": own("/account", submit("form[action='/account/email']", email="nobody"), status=400),
    "account.short password": own("/account", submit("form[action='/account/password']", password="x"), status=400),
    "account.new key": own("/account", submit("form[action='/account/keys'].line", **{"key-name": "laptop"})),
    "account.key without access": own(
        "/account",
        submit("details form[action='/account/keys']", **{"restricted-name": "ci", "restricted-file": "nothing"}),
        status=404,
    ),
    "webhooks": own(lambda stage: create_webhook(stage) and "/webhooks"),
    "webhooks.none": own("/webhooks", unfold, person="bea"),
    "webhooks.rejected": own("/webhooks", submit("form[action='/webhooks']", url="nowhere", events="on"), status=400),
    "webhooks.failed": own(create_webhook),
}


# --- signing in and granting access ------------------------------------------------------------------------------


def find_invitation(stage: Stage) -> str:
    """Return the path of an invitation."""
    if "invitation" not in stage.made:
        link = invitations.invite(stage.world.rt, "kim@example.com", stage.words.reader, Plan.PRO).link
        stage.made["invitation"] = urlsplit(link or "").path
    return stage.made["invitation"]


def find_device_code(stage: Stage) -> str:
    """Return the path of the page with the code of a new login filled in."""
    app = stage.pair.app
    form = {"client_id": app.client_id, "client_secret": app.secret, "scope": "files:read"}
    code = app.http.post("/oauth/device_authorization", data=form).get_json()["user_code"]
    return f"/device?user_code={code}"


def lose_session(page: Page) -> None:
    """Send a form after the session has ended."""
    page.context.clear_cookies()
    page.locator("#name").fill("Pia Lee")
    page.get_by_role("button", name="Save the name").click()
    page.get_by_role("heading", name=re.compile("no longer signed in")).wait_for()


SIGN_IN_STATES: dict[str, State] = {
    "sign in": State(visit("/login")),
    "sign in.wrong": State(visit("/login", submit("form.enter", email="x" * 80, password="x")), status=403),
    "sign in.first": State(visit("/webhooks"), status=403),
    "sign in.unknown link": State(visit("/login/unknown-link"), status=410),
    "sign in.invitation": State(visit(find_invitation)),
    "sign in.short password": State(visit(find_invitation, submit("form.enter", password="x")), status=400),
    "sign in.session lost": own("/account", lose_session, status=403),
    "home.signed in": own("/"),
    "notices": State(visit(find_notice)),
    "device.wrong code": own("/device", submit("form.enter", user_code="wrong"), status=404),
    "device.decision": own(find_device_code, submit("form.enter")),
    "device.allowed": own(
        find_device_code, submit("form.enter"), click("button[value=approve]", "h1:has-text('allowed')")
    ),
    "consent.unknown app": own(lambda stage: stage.pair.app.authorize_url(client_id="nobody"), status=400),
}

PLAIN_STATES: dict[str, State] = {
    f"{name}.no scripts": replace(state, has_scripts=False)
    for name, state in (
        ("library", own(fill_library)),
        ("file", own(find_full_file(""))),
        ("settings", own(find_full_file("/settings"))),
        ("looks", own_file("/looks")),
        ("links", own(lambda stage: f"{add_links(stage)}/links")),
        ("hotspots", own(lambda stage: f"{add_media(stage)}/hotspots")),
        ("assets", own_file("/assets")),
        ("replace", own_file("/replace")),
        ("report", own(find_report("?range=7d"))),
        ("account", own(fill_account)),
        ("webhooks", own("/webhooks")),
    )
}
"""Pages that need scripts for some of their functions, in a browser without scripts."""

OWNER_STATES: dict[str, State] = (
    list_pages() | LIBRARY_STATES | FILE_STATES | REPORT_STATES | ACCOUNT_STATES | SIGN_IN_STATES | PLAIN_STATES
)
"""States by name."""
