"""Draw every state of every page in all windows and looks.

Run ``python -m tests.browser.screenshots DIR [FILTER ...]``: DIR gets contact sheets, and ``DIR/pictures`` one picture
for each state, window and look. Each FILTER is a part of the name of a state, a window (1440, 820, 390, zoom), a look
(light, dark, forced), or the script of people's texts (latin, rtl, cjk); a picture must match all of them. Faults of
the layout and what the browser reports are printed.
"""

import io
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.browser.every_page.layout import find_layout_faults
from tests.browser.every_page.looks import LOOKS, WINDOWS, Onlooker, open_window
from tests.browser.every_page.owner_states import OWNER_STATES
from tests.browser.every_page.reader_states import READER_STATES
from tests.browser.every_page.states import State
from tests.support.browsers.browser import ENGINE, launch
from tests.support.browsers.contact_sheets import write_sheets
from tests.support.browsers.stage import ARABIC, CHINESE, LATIN, Words, open_stage

STATES: Mapping[str, State] = READER_STATES | OWNER_STATES
LANGUAGES: dict[str, tuple[Words, Sequence[str], Sequence[str]]] = {
    "latin": (LATIN, tuple(WINDOWS), tuple(LOOKS)),
    "rtl": (ARABIC, ("1440", "390"), ("light",)),
    "cjk": (CHINESE, ("1440", "390"), ("light",)),
}
"""Name -> texts of people, windows, and looks."""
MAX_HEIGHT = 2.2  # of a picture, in windows
_PREPARE = """async () => {
  // They stick to the window, and would be somewhere in a picture of the whole page.
  for (const row of document.querySelectorAll(".save, .looks-preview")) row.style.position = "static";
  for (const image of document.images) image.loading = "eager";
  await Promise.allSettled([...document.images].map((image) => image.decode()));
}"""


def main(target: Path, *filters: str) -> None:
    """Draw what ``filters`` select into ``target``."""
    pictures = target / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launch(playwright, ENGINE)
        for language, (words, windows, looks) in LANGUAGES.items():
            wanted = list(_select(language, windows, looks, filters))
            if wanted:
                _draw_language(browser, pictures, language, words, wanted)
        browser.close()
    for language, (_, windows, looks) in LANGUAGES.items():
        for window in windows:
            for look in looks:
                _write_sheets(target, f"{window} {look} {language}")


def _select(
    language: str, windows: Sequence[str], looks: Sequence[str], filters: Sequence[str]
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield window, state and looks that ``filters`` select, window by window."""
    for window in windows:
        for name in STATES:
            found = [
                look for look in looks if all(word in name or word in (window, look, language) for word in filters)
            ]
            if found:
                yield window, name, found


def _draw_language(
    browser: Browser, folder: Path, language: str, words: Words, wanted: Sequence[tuple[str, str, list[str]]]
) -> None:
    with tempfile.TemporaryDirectory() as data, open_stage(Path(data), words) as stage, ExitStack() as stack:
        lookers: dict[str, Onlooker] = {}
        for window, name, looks in wanted:
            if window not in lookers:
                stack.close()
                lookers = {window: stack.enter_context(open_window(browser, stage, window))}
            for complaint in _draw_state(lookers[window], STATES[name], looks, folder, f"{name} {window}", language):
                print(f"{name} {window} {language}: {complaint}", flush=True)


def _draw_state(
    looker: Onlooker, state: State, looks: Sequence[str], folder: Path, name: str, language: str
) -> Iterator[str]:
    """Draw one state in one window in all ``looks``; yield its faults."""
    try:
        looker.page.emulate_media(**LOOKS[looks[0]])
        page = looker.open(state)
        for look in looks:
            page.emulate_media(**LOOKS[look])
            yield from find_layout_faults(page, is_wide=state.is_wide) if look == looks[0] else ()
            _save_picture(page, state, folder / f"{name} {look} {language}.png")
        yield from looker.list_complaints(state)
    except (Error, AssertionError) as error:
        yield f"{type(error).__name__}: {str(error)[:300]}"


def _save_picture(page: Page, state: State, path: Path) -> None:
    page.evaluate(_PREPARE)
    shot = Image.open(io.BytesIO(page.screenshot(full_page=state.is_whole, animations="disabled")))
    size = page.viewport_size
    assert size is not None
    scale = shot.width / size["width"]
    shot.crop((0, 0, shot.width, min(shot.height, round(size["height"] * scale * MAX_HEIGHT)))).save(path)


def _write_sheets(target: Path, group: str) -> None:
    """Write the sheets of the pictures in one window, look and language."""
    found = [(name, target / "pictures" / f"{name} {group}.png") for name in STATES]
    is_phone = group.startswith("390")
    write_sheets(
        target,
        group.replace(" ", "-"),
        [(caption, path) for caption, path in found if path.exists()],
        columns=6 if is_phone else 4,
        width=300 if is_phone else 560,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
