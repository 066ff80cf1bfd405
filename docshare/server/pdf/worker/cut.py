"""Some pages of a document as a document of their own, with nothing of the others. Runs inside the worker only.

This is an access control: page operations of every library carry parts of removed pages along. So the
kept pages are first reduced to what their own drawing needs (``resources``, ``annotations``), then appended to a new
document; and what came out is compared with what may be in it (``leaks``) and with how it looked (``comparison``).
Outline, attachments, form, scripts, structure tree, named destinations, metadata and page labels describe the whole
document, so none of them is taken along. Layers of kept pages stay, shown or hidden as before.

A font that kept pages use comes along as it is embedded. Which letters it holds may tell that hidden pages
use others too; taking fonts apart would change how kept pages look. Drawn (Type 3) fonts are reduced to what is shown.
"""

from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name

from docshare.server.pdf.worker.annotations import AnnotationBuilder
from docshare.server.pdf.worker.resources import STREAM_KEYS, ResourceReducer, keep_only

INHERITED_KEYS = ("/MediaBox", "/CropBox", "/Rotate")
PAGE_KEYS = frozenset({
    "/Type", "/MediaBox", "/CropBox", "/BleedBox", "/TrimBox", "/ArtBox", "/Rotate", "/UserUnit", "/Contents", "/Group",
})  # fmt: skip
_MAX_PARENTS = 100


def extract_pages(source: pikepdf.Pdf, first: int, last: int) -> pikepdf.Pdf:
    """A new document of the pages ``first`` to ``last`` (1-based) of ``source``, which is used up by it.

    Raises Refused ``contents`` when what a page draws cannot be read.
    """
    generate_field_appearances(source)
    states = _find_layer_states(source)
    pages = [source.pages[number - 1].obj for number in range(first, last + 1)]
    reducer = ResourceReducer()
    annotations = AnnotationBuilder(source, {page.objgen: number for number, page in enumerate(pages)}, reducer)
    for number, page in enumerate(pages):
        resources = find_inherited(page, "/Resources")
        _reduce_page(page, reducer.page(page, resources), annotations.of(page, number, resources))
    reducer.finish()
    made = pikepdf.new()
    for page in pages:
        made.pages.append(pikepdf.Page(page))
    for jump in annotations.jumps:
        link = made.pages[jump.page].obj.Annots[jump.annotation]
        link.Dest = Array([made.pages[jump.target].obj, *jump.place])
    _copy_layers(made, reducer, states)
    return made


def find_inherited(page: Any, key: str) -> Any:
    """The entry ``key`` of ``page``, or that of the nearest folder of the page tree that has one."""
    for _ in range(_MAX_PARENTS):
        if not isinstance(page, Dictionary):
            return None
        if key in page:
            return page[key]
        page = page.get("/Parent")
    return None


def generate_field_appearances(source: pikepdf.Pdf) -> None:
    """Fields that leave their looks to the reader's program get looks, for they are no fields afterwards."""
    form = source.Root.get("/AcroForm")
    needed: Any = form.get("/NeedAppearances") if isinstance(form, Dictionary) else None
    if needed is True:
        source.generate_appearance_streams()


def _reduce_page(page: Any, resources: Dictionary, annotations: Array) -> None:
    values = {key: find_inherited(page, key) for key in INHERITED_KEYS}
    keep_only(page, PAGE_KEYS)
    contents = page.get("/Contents")
    for stream in contents if isinstance(contents, Array) else (contents,):
        if isinstance(stream, pikepdf.Stream):
            keep_only(stream, STREAM_KEYS)
    for key, value in values.items():
        if value is not None:
            page[key] = value
    page.Resources = resources
    if len(annotations):
        page.Annots = annotations


def _find_layer_states(source: pikepdf.Pdf) -> Any:
    """The default configuration of the layers, or None."""
    layers = source.Root.get("/OCProperties")
    states = layers.get("/D") if isinstance(layers, Dictionary) else None
    return states if isinstance(states, Dictionary) else None


def _copy_layers(made: pikepdf.Pdf, reducer: ResourceReducer, states: Any) -> None:
    if not reducer.layers:
        return
    copies = {number: made.copy_foreign(layer) for number, layer in reducer.layers.items()}

    def kept(listed: Any) -> Array:
        known = [copies.get(layer.objgen) for layer in listed] if isinstance(listed, Array) else []
        return Array([copy for copy in known if copy is not None])

    shown = Dictionary()
    if states is not None:
        base = states.get("/BaseState")
        if isinstance(base, Name):
            shown.BaseState = base
        for key in ("/ON", "/OFF"):
            shown[key] = kept(states.get(key))
        shown.AS = Array(_list_layer_usages(states.get("/AS"), kept))
    made.Root.OCProperties = made.make_indirect(Dictionary(OCGs=Array(list(copies.values())), D=shown))


def _list_layer_usages(listed: Any, kept: Any) -> list[Dictionary]:
    """When which layers follow their own usage."""
    usages = []
    for usage in listed if isinstance(listed, Array) else ():
        if isinstance(usage, Dictionary) and isinstance(usage.get("/Event"), Name):
            categories = usage.get("/Category")
            names = [name for name in categories if isinstance(name, Name)] if isinstance(categories, Array) else []
            usages.append(Dictionary(Event=usage.Event, OCGs=kept(usage.get("/OCGs")), Category=Array(names)))
    return usages
