"""The states of what a reader sees: the viewer, the visitor gate, and links that do not open."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from playwright.sync_api import Page

from docshare.contract.wire import format_instant
from docshare.server.services.files import hotspots
from tests.browser.every_page.states import PIA, Act, Show, State, click, press, submit, unfold, visit
from tests.support.browsers.browser import wait_for_count
from tests.support.browsers.paged_viewer import wait_for_rest
from tests.support.browsers.stage import Stage, make_deck
from tests.support.documents.pdfs import linked_pdf, mixed_sizes_pdf
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS

CTA = {"label": "Book a meeting", "url": "https://acme.example/"}
FORM = [
    {"key": "who", "label": "Your name", "type": "text", "required": True},
    {"key": "mail", "label": "Work email", "type": "email", "required": True},
    {"key": "firm", "label": "Company", "type": "company", "required": False},
    {"key": "phone", "label": "A number at which we may call you back", "type": "phone", "required": False},
]
READY = ".pages.is-live .page.is-ready:not([inert])"


# --- the viewer --------------------------------------------------------------------------------------------------


def view(key: str, *acts: Act, prefix: str = "", content: bytes | None = None, **settings: Any) -> State:
    """Open the document ``key`` in the viewer, then act."""

    def find_address(stage: Stage) -> str:
        return f"{prefix}/{stage.share(key, content, **settings)['shortId']}"

    return State(visit(find_address, wait_for_page_image, *acts), is_whole=False)


def view_own(*acts: Act) -> Show:
    """Open the document that people have read, then act."""
    return visit(lambda stage: f"/{stage.pair.uploaded_file['shortId']}", wait_for_page_image, *acts)


def wait_for_page_image(page: Page) -> None:
    """Wait until the first page is shown and scripts have taken over."""
    page.locator(READY).first.wait_for()


def turn_page(page: Page) -> None:
    """Turn to the next pages, and wait until they lie."""
    press("ArrowRight", ".page[data-page='2'].is-ready")(page)
    wait_for_rest(page)


def find(words: str, count: str) -> Act:
    """Open the find panel, and wait for the number of matches."""

    def act(page: Page) -> None:
        page.keyboard.press("Control+f")
        page.locator("#find-words").fill(words)
        wait_for_count(page, count)

    return act


def open_contents(page: Page) -> None:
    """Open the table of contents."""
    press("t", ".sidebar .thumbnail-image.is-shown")(page)
    page.get_by_role("tab", name="Contents").click()
    page.get_by_role("tabpanel", name="Contents").wait_for()


def open_visit(page: Page) -> None:
    """Open the panel with what the owner sees of the visit."""
    with page.expect_response("**/beacon"):
        page.mouse.move(200, 300)
        page.mouse.move(210, 320)
    page.locator("#visit-open").click()
    page.locator("[role=dialog] dd, dialog[open] dd").first.wait_for()


def begin_annotation(page: Page) -> None:
    """Draw an area with the keyboard, up to the form for the comment."""
    page.locator("#annotate").click()
    page.locator("#annotate-page").click()
    page.keyboard.press("Enter")
    page.locator("#annotation-form").wait_for()


def zoom_in(page: Page) -> None:
    """Zoom in so far that the page does not fit."""
    page.locator("#zoom-level").select_option("200")
    page.locator(READY).first.wait_for()


def view_with_looks(key: str, **blocks: Any) -> State:
    """Open a document with a logo, a button and another appearance."""

    def find_address(stage: Stage) -> str:
        made = stage.share(key)
        assets = stage.add_assets(made)
        background = blocks.get("background", {})
        if background.get("type") == "image":
            background = background | {"assetId": assets["background"]}
        looks = blocks | {"background": background, "logo": {"assetId": assets["logo"], "size": "l", "position": "tl"}}
        put_settings(stage.world, made, viewerSettings=looks, deleteAt=find_instant(stage.world, hours=5))
        return f"/{made['shortId']}"

    return State(
        visit(find_address, wait_for_page_image, lambda page: page.locator("#expiry").wait_for()), is_whole=False
    )


def view_with_hotspots(stage: Stage, page: Page) -> None:
    made = stage.share("hotspots")
    sound = stage.add_assets(made)["hotspot-audio"]
    if not hotspots.list_hotspots(stage.world.rt, made["uuid"]):
        link = {"page": "1", "rect": "0.1,0.5,0.2,0.1", "link": "https://film.example/", "label": "See the film"}
        hotspots.add(stage.world.rt, made["uuid"], link)
        audio = {"page": "1", "rect": "0.5,0.5,0.2,0.1", "audio": sound, "label": "Listen"}
        hotspots.add(stage.world.rt, made["uuid"], audio)
    visit(
        f"/{made['shortId']}",
        wait_for_page_image,
        click(".hotspot"),
        lambda page: page.locator(".hotspot").nth(1).wait_for(),
    )(stage, page)


def find_instant(world: World, **amount: float) -> str:
    """Return the time after ``amount`` on the clock of the server, in ISO format."""
    return format_instant(world.clock.now + timedelta(**amount) // timedelta(milliseconds=1))


def view_while_it_changes(stage: Stage, page: Page) -> None:
    """Go to the last page of a document that was replaced after it was opened."""
    made = stage.share("changed")
    visit(f"/{made['shortId']}", wait_for_page_image)(stage, page)
    stage.send(stage.world.pia, f"/files/{made['uuid']}/content", file=make_deck())
    page.keyboard.press("End")
    page.locator("#notice").wait_for()


FULL: dict[str, Any] = ALL_FEEDBACK_SETTINGS | {"viewerSettings": {"cta": CTA}}
VIEWER_STATES: dict[str, State] = {
    "viewer.plain": view("plain"),
    "viewer.one page": view("single", content=make_deck(1)),
    "viewer.mixed sizes": view("mixed", content=mixed_sizes_pdf()),
    "viewer.links": replace(view("linked", content=linked_pdf()), rules=()),  # the document sizes its links
    "viewer.standard": view("standard", **FULL),
    "viewer.flipbook": view("flipbook", turn_page, **FULL, viewerMode="flipbook"),
    "viewer.swipe": view("swipe", **FULL, viewerMode="swipe"),
    "viewer.magazine": view("magazine", turn_page, **FULL, viewerMode="magazine"),
    "viewer.gradient": view_with_looks(
        "gradient", background={"type": "gradient", "preset": "forest"}, cta=CTA | {"position": "bar"}
    ),
    "viewer.zoomed": replace(view("plain", zoom_in), is_wide=True),
    "viewer.find": view("plain", find("Page", "1 of 12")),
    "viewer.find nothing": view("plain", find("needle", "No results")),
    "viewer.pages": view("plain", press("t", ".sidebar .thumbnail-image.is-shown")),
    "viewer.contents": view("plain", open_contents),
    "viewer.keyboard": view("plain", press("?", "#help")),
    "viewer.presentation": replace(
        view("plain", press("p", "[role=dialog] .page.is-ready, dialog .page.is-ready")), is_full_screen=True
    ),
    "viewer.visit": view("plain", open_visit),
    "viewer.no choice": view("measured", open_visit, readerChoice=False),
    "viewer.notes": State(view_own(click("#notes-open", ".note")), is_whole=False),
    "viewer.empty notes": view("standard", click("#notes-open", "#notes")),
    "viewer.annotation": view("standard", begin_annotation),
    "viewer.receipt": view("standard", click("#receipt-open", "#receipt")),
    "viewer.hotspots": State(view_with_hotspots, is_whole=False),
    "viewer.picture behind": view_with_looks("picture", background={"type": "image", "blur": 4, "dim": 30}, cta=CTA),
    "viewer.brand": view_with_looks(
        "brand", brand={"accentColor": "#ffee00", "toolbarTheme": "dark"}, cta=CTA | {"style": "outline"}
    ),
    "viewer.watermark": view("watermark", watermark=True, requireEmail=False),
    "viewer.changed": State(view_while_it_changes, status=404, is_whole=False),
    "viewer.no scripts": State(
        visit(lambda stage: f"/{stage.share('standard', **FULL)['shortId']}"), is_whole=False, has_scripts=False
    ),
    "viewer.owner": State(view_own(), PIA, is_whole=False),
    "viewer.owner notes": State(view_own(click("#notes-open", ".note")), PIA, is_whole=False),
    "embed.standard": view("standard", prefix="/embed"),
    "embed.flipbook": view("flipbook", prefix="/embed"),
}


# --- the visitor gate --------------------------------------------------------------------------------------------


def open_gate(key: str, *acts: Act, prefix: str = "", status: int = 200, **settings: Any) -> State:
    """Open the gate of the document ``key``, then act."""

    def find_address(stage: Stage) -> str:
        return f"{prefix}/{stage.share(key, **settings)['shortId']}"

    return State(visit(find_address, *acts), status=status)


EVERYTHING: dict[str, Any] = {"password": "open sesame", "gateFields": FORM, "viewLimit": 3}
DOMAINS: dict[str, Any] = {"requireEmail": True, "gateDomains": ["acme.example"]}
GATE_STATES: dict[str, State] = {
    "gate.password": open_gate("password", password="open sesame"),
    "gate.wrong password": open_gate("password", submit("form.gate", password="open says me"), status=403),
    "gate.email": open_gate("email", requireEmail=True),
    "gate.invalid email": open_gate("email", submit("form.gate", **{"field-email": "ada"}), status=422),
    "gate.domain": open_gate("domain", **DOMAINS),
    "gate.other domain": open_gate("domain", submit("form.gate", **{"field-email": "ada@b.example"}), status=403),
    "gate.form": open_gate("form", gateFields=FORM),
    "gate.incomplete form": open_gate("form", submit("form.gate"), status=422),
    "gate.view limit": open_gate("limit", viewLimit=3),
    "gate.everything": open_gate("everything", **EVERYTHING),
    "gate.everything wrong": open_gate("everything", submit("form.gate", password="x"), status=403),
    "gate.no scripts": replace(open_gate("everything", **EVERYTHING), has_scripts=False),
    "gate.in a frame": open_gate("everything", prefix="/embed"),
}  # fmt: skip


# --- links that do not open --------------------------------------------------------------------------------------


def end_link(key: str, column: str, *, status: int) -> State:
    """Open a link that ended a day ago, as the ``column`` of its file says."""

    def find_address(stage: Stage) -> str:
        made = stage.share(key)
        update_file_row(stage.world, made["uuid"], **{column: stage.world.clock.now - 86_400_000})
        return f"/{made['shortId']}"

    return State(visit(find_address), status=status)


def empty_page_range(stage: Stage) -> str:
    made = stage.share("empty", pageRange={"from": 8, "to": 12})
    update_file_row(stage.world, made["uuid"], total_pages=3)
    return f"/{made['shortId']}"


def exceed_address_limit(stage: Stage, page: Page) -> None:
    address = "203.0.113.250"
    for number in range(stage.world.rt.config.address_limit + 1):
        stage.world.http.get(f"/{number:012d}", environ_overrides={"REMOTE_ADDR": address})
    page.set_extra_http_headers({"X-Forwarded-For": address})
    visit("/abcdefghijkl")(stage, page)


ENDED_STATES: dict[str, State] = {
    "ended.expired": end_link("expired", "delete_at", status=410),
    "ended.used up": end_link("burned", "burned_at", status=410),
    "ended.frozen": end_link("frozen", "frozen_at", status=403),
    "ended.no pages": State(visit(empty_page_range), status=404),
    "ended.unknown": State(visit("/abcdefghijkl"), status=404),
    "ended.too fast": State(exceed_address_limit, status=429),
}


# --- sharing without an account ----------------------------------------------------------------------------------


def share(*acts: Act, status: int = 200, has_scripts: bool = True) -> State:
    """Open the start page of a server that allows uploads without an account, then act."""

    def show(stage: Stage, page: Page) -> None:
        with stage.allow_anonymous_uploads():
            visit("/", *acts)(stage, page)

    return State(show, status=status, has_scripts=has_scripts)


def choose_file(content: bytes, then: str) -> Act:
    """Choose a file with ``content``, and wait for the element ``then``."""

    def act(page: Page) -> None:
        page.locator("#file").set_input_files({"name": "a.pdf", "mimeType": "application/pdf", "buffer": content})
        page.locator(then).wait_for()

    return act


def hold_uploads(page: Page) -> None:
    """Never answer an upload."""
    page.route("**/api/files", lambda _: None)


SHARE_STATES: dict[str, State] = {
    "share": share(),
    "share.no scripts": share(has_scripts=False),
    "share.too large": share(choose_file(bytes(30_000), "#alert:not(:empty)")),
    "share.not a document": share(choose_file(b"hello", "#alert:not(:empty)"), status=400),
    "share.sending": share(hold_uploads, choose_file(make_deck(), "#sending")),
    "share.done": share(choose_file(make_deck(), "#done"), unfold),
}

READER_STATES: dict[str, State] = VIEWER_STATES | GATE_STATES | ENDED_STATES | SHARE_STATES
"""Name of a state -> the state."""
