"""Count how often readers follow a hotspot or the call to action.

The server does not store who tapped, because the report shows only a count.
"""

from collections.abc import Mapping
from typing import Any

from docshare.contract.problems import Problem
from docshare.server.rules import agents
from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.files import settings
from docshare.server.services.readership import readers, visits
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.store.tables import hotspots
from docshare.server.store.tables import readers as reader_tables


def record(
    rt: Runtime, reader: ReaderContext, body: Mapping[str, Any], user_agent: str, *, prefetch: bool, opts_out: bool
) -> None:
    """Count the tap in ``body``, unless ``user_agent`` identifies a program, the request is a ``prefetch``, or the
    reader opts out and the owner allows it.

    Raises ``forbidden`` (the owner, or the document has no call to action), ``bad_request``, ``not_found`` for a
    hotspot that the reader does not see, and what ``readers.require_current`` raises.
    """
    readers.require_not_owner(reader)
    uuid, link = rules.parse_tap(body), reader.link
    if uuid is None and "cta" not in settings.find_appearance(rt, link).viewer_settings:
        raise Problem("forbidden", "This document has no call to action.")
    now = rt.clock()
    with rt.db.write(link.file.owner_id):
        readers.require_current(rt, reader)
        hotspot_id = None if uuid is None else _get_hotspot_id(rt, reader, uuid)
        if opts_out and visits.offers_choice(link):
            return
        if not prefetch and agents.parse_user_agent(user_agent).program is None:
            reader_tables.insert_tap(rt.db, link.file.id, hotspot_id, now)


def _get_hotspot_id(rt: Runtime, reader: ReaderContext, uuid: str) -> int:
    found = hotspots.find_of_file(rt.db, reader.link.file.id, uuid)
    if found is None or reader.window.to_reader_page(found[1]) is None:
        raise Problem("not_found", "There is no such hotspot.")
    return found[0]
