"""Visit every object of a document once, with the page that it belongs to. Runs only inside the worker."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Object, Stream

from docshare.server.pdf.worker.contents import CATEGORIES

NAME_KEYED = frozenset({*CATEGORIES, "/CharProcs", "/Colorants"})
"""Entries whose value is a dictionary with keys chosen by the author, which have no meaning."""

_UPWARD_KEYS = frozenset({"/Parent", "/P", "/Popup", "/IRT", "/Dest", "/B", "/StructParent"})
_PAGE_TYPES = ("/Page", "/Pages")


@dataclass(frozen=True)
class VisitedObject:
    """One object: its ``value``; the ``key`` under which it was first found; its ``page`` (1-based), None for objects
    of the document; ``is_name_keyed``: it is a dictionary with keys chosen by the author."""

    value: Any
    key: str
    page: int | None
    is_name_keyed: bool = False


def walk_objects(pdf: pikepdf.Pdf, stop: Callable[[], bool]) -> Iterator[VisitedObject]:
    """Yield all reachable objects, those of the pages first, until ``stop`` returns True."""
    seen: set[tuple[int, int]] = set()
    for number, page in enumerate(pdf.pages, 1):
        seen.add(page.obj.objgen)
        yield VisitedObject(page.obj, "/Page", number)
        yield from _walk_below(page.obj, number, seen, stop)
        if stop():
            return
    yield from _walk_below(pdf.trailer, None, seen, stop)


def _walk_below(
    top: Any, page: int | None, seen: set[tuple[int, int]], stop: Callable[[], bool]
) -> Iterator[VisitedObject]:
    waiting = list(_children(VisitedObject(top, "", page)))
    steps = 0
    while waiting:
        thing = waiting.pop()
        value = thing.value
        if value.is_indirect:
            if value.objgen in seen or (page is not None and _object_type(value) in _PAGE_TYPES):
                continue
            if isinstance(value, Array | Dictionary | Stream):
                seen.add(value.objgen)
        yield thing
        waiting.extend(_children(thing))
        steps += 1
        if steps % 4096 == 0 and stop():
            return


def _children(thing: VisitedObject) -> Iterator[VisitedObject]:
    value, page = thing.value, thing.page
    if isinstance(value, Array):
        for item in value:
            if isinstance(item, Object):
                yield VisitedObject(item, thing.key, page)
    elif isinstance(value, Dictionary | Stream):
        for key, item in value.items():
            if isinstance(item, Object) and not (page is not None and not thing.is_name_keyed and key in _UPWARD_KEYS):
                yield VisitedObject(
                    item, key, page, key in NAME_KEYED and not thing.is_name_keyed and isinstance(item, Dictionary)
                )


def _object_type(value: Any) -> str:
    return str(value.get("/Type", "")) if isinstance(value, Dictionary | Stream) else ""
