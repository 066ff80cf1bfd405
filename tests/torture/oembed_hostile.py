"""Send hostile URLs to ``/oembed``: nothing is reflected or fetched, and names of gated documents stay secret.

``python -m tests.torture.oembed_hostile [ADDRESSES]`` sends 200 by default and exits with 1 if an attack succeeds.
"""

import itertools
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from docshare.server.outbound.exchange import OutboundClient
from docshare.server.pdf.engine import PdfEngine
from tests.support.clock import FakeClock
from tests.support.outside.forbidden_urls import FORMS
from tests.support.outside.payloads import CANARY
from tests.support.owner.browser import put_settings
from tests.support.people.cast import BASE_URL, World, close_world, make_runtime, make_world

NAME = "Secret plans.pdf"
_MARKUP = (
    f"<script>{CANARY}()</script>", f"\"><img src=x onerror={CANARY}()>", f"'><svg onload={CANARY}()>",
    f"</title><script>{CANARY}()</script>", f"javascript:{CANARY}()", f"data:text/html,<script>{CANARY}()</script>",
    f"<iframe srcdoc='{CANARY}'>", f"{{{{{CANARY}}}}}", f"{{% {CANARY} %}}", f"${{{CANARY}}}", f"\r\nX-{CANARY}: 1",
    f"\x00{CANARY}", f"\u202e{CANARY}", f"%3Cscript%3E{CANARY}", f"&lt;{CANARY}&gt;", f"\ufeff<{CANARY}>",
)  # fmt: skip
_PLACES = (
    "{attack}", "{base}/{attack}", "{link}{attack}", "{link}?{attack}", "{link}#{attack}", "{link}/{attack}",
    "{base}/embed/{attack}", "http://{attack}@127.0.0.1:8787/{id}", "http://127.0.0.1:8787{attack}/{id}",
    "//{attack}/{id}", "{base}\\{attack}\\{id}", "{base}/..;/{attack}/{id}",
)  # fmt: skip


@dataclass
class OembedFigures:
    addresses: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    outbound: int = 0
    problems: list[str] = field(default_factory=list)


def build_addresses(link: str, most: int) -> list[str]:
    """Return ``most`` hostile values of ``url``: markup in every part of a share ``link``, and private addresses."""
    parts = {"base": BASE_URL, "link": link, "id": link.rpartition("/")[2]}
    marked = [place.format(attack=attack, **parts) for attack in _MARKUP for place in _PLACES]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(marked, FORMS))
    return [address for address in mixed if address is not None][:most]


def check_addresses(world: World, most: int) -> OembedFigures:
    """Request ``most`` hostile URLs based on an open link, and as many for each kind of gated link."""
    figures = OembedFigures()
    gates = ({}, {"password": "open sesame"}, {"requireEmail": True})
    links = []
    for settings in gates:
        uploaded = world.pia.upload(name=NAME)
        put_settings(world, uploaded, **settings)
        links.append((str(uploaded["shareUrl"]), bool(settings)))

    def connect(*_: object) -> None:
        figures.outbound += 1
        raise OSError("no connection is expected")

    found = [build_addresses(link, most) for link, _ in links]
    figures.addresses = len(found[0])
    with (
        mock.patch.object(socket.socket, "connect", connect),
        mock.patch.object(socket, "getaddrinfo", connect),
        mock.patch.object(OutboundClient, "exchange", connect),
    ):
        for (_, gated), values in zip(links, found, strict=True):
            for number, value in enumerate(values):
                _check_address(world, value, gated, number, figures)
    if figures.outbound:
        figures.problems.append(f"{figures.outbound} outbound requests of the server")
    return figures


def _check_address(world: World, value: str, gated: bool, number: int, figures: OembedFigures) -> None:
    origin = {"REMOTE_ADDR": f"10.{gated:d}.{number >> 8}.{number & 255}"}
    world.clock.advance(seconds=1)
    answer = world.http.get("/oembed", query_string={"url": value}, environ_overrides=origin)
    figures.statuses[answer.status_code] += 1
    response_text = answer.text + str(answer.headers)
    if answer.status_code not in (200, 400, 404):
        figures.problems.append(f"{answer.status_code} for {value!r}")
    if CANARY in response_text:
        figures.problems.append(f"{value!r} is reflected")
    if "html" in answer.content_type:
        figures.problems.append(f"{value!r} returns {answer.content_type}")
    if gated and NAME in response_text:
        figures.problems.append(f"{value!r} discloses the name of a gated file")


@contextmanager
def _open_world() -> Iterator[World]:
    engine, clock = PdfEngine(workers=1), FakeClock()
    with tempfile.TemporaryDirectory(prefix="docshare-oembed-", ignore_cleanup_errors=True) as folder:
        world = make_world(make_runtime(Path(folder), clock, engine, rate_limit=100_000), clock)
        try:
            yield world
        finally:
            close_world(world)
            engine.close()


def main(most: int = 200) -> int:
    """Run the attacks, print the results, and return the exit code."""
    with _open_world() as world:
        figures = check_addresses(world, most)
    print(
        f"{figures.addresses} addresses around 3 links:", *(f"{n} x {status}" for status, n in figures.statuses.items())
    )
    print(f"{figures.outbound} outbound requests; {len(figures.problems)} errors", *figures.problems[:20], sep="\n  ")
    return 1 if figures.problems or figures.addresses < most else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
