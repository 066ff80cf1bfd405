"""Extract a page range of a document without any content of the other pages. Runs only inside the worker.

This is access control, and the page operations of every PDF library copy parts of removed pages. Therefore the kept
pages are first reduced to what they need for drawing (``resources``, ``annotations``) and then appended to a new
document. ``leaks`` then checks the result for foreign content, and ``comparison`` checks that it looks the same.
Outline, attachments, form, scripts, structure tree, named destinations, metadata and page labels describe the whole
document and are dropped. Layers of kept pages keep their visibility.

An embedded font is kept whole, because editing font programs could change how kept pages look. Its set of characters
can reveal which characters hidden pages use. Type 3 fonts are reduced to the glyphs that kept pages show.
"""

from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name

from docshare.server.pdf.worker.annotations import AnnotationBuilder
from docshare.server.pdf.worker.resources import STREAM_KEYS, ResourceReducer, keep_only, reduce_group

INHERITED_KEYS = ("/MediaBox", "/CropBox", "/Rotate")
PAGE_KEYS = frozenset({
    "/Type", "/MediaBox", "/CropBox", "/BleedBox", "/TrimBox", "/ArtBox", "/Rotate", "/UserUnit", "/Contents", "/Group",
})  # fmt: skip
_MAX_PARENTS = 100


def extract_pages(source: pikepdf.Pdf, first: int, last: int) -> pikepdf.Pdf:
    """Return a new document of the pages ``first`` to ``last`` (1-based, inclusive) of ``source``.

    Modifies ``source``, which must not be used afterwards. Raises PdfRefused ``contents`` if page contents cannot be
    parsed.
    """
    generate_field_appearances(source)
    states = _find_layer_states(source)
    pages = [source.pages[number - 1].obj for number in range(first, last + 1)]
    reducer = ResourceReducer()
    annotations = AnnotationBuilder(source, {page.objgen: number for number, page in enumerate(pages)}, reducer)
    for number, page in enumerate(pages):
        resources = find_inherited(page, "/Resources")
        _reduce_page(page, reducer.reduce_page(page, resources), annotations.rebuild_page(page, number, resources))
    reducer.finish()
    target = pikepdf.new()
    for page in pages:
        target.pages.append(pikepdf.Page(page))
    for jump in annotations.jumps:
        link = target.pages[jump.page].obj.Annots[jump.annotation]
        link.Dest = Array([target.pages[jump.target].obj, *jump.place])
    _copy_layers(target, reducer, states)
    return target


def find_inherited(page: Any, key: str) -> Any:
    """Return the entry ``key`` of ``page``, or of its nearest ancestor in the page tree that has one."""
    for _ in range(_MAX_PARENTS):
        if not isinstance(page, Dictionary):
            return None
        if key in page:
            return page[key]
        page = page.get("/Parent")
    return None


def generate_field_appearances(source: pikepdf.Pdf) -> None:
    """Generate the appearances of form fields that rely on the viewer for it, because fields become plain drawings."""
    form = source.Root.get("/AcroForm")
    needed: Any = form.get("/NeedAppearances") if isinstance(form, Dictionary) else None
    if needed is True:
        source.generate_appearance_streams()


def _reduce_page(page: Any, resources: Dictionary, annotations: Array) -> None:
    values = {key: find_inherited(page, key) for key in INHERITED_KEYS}
    keep_only(page, PAGE_KEYS)
    reduce_group(page)
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
    """Return the default configuration of the layers, or None."""
    layers = source.Root.get("/OCProperties")
    states = layers.get("/D") if isinstance(layers, Dictionary) else None
    return states if isinstance(states, Dictionary) else None


def _copy_layers(target: pikepdf.Pdf, reducer: ResourceReducer, states: Any) -> None:
    if not reducer.layers:
        return
    copies = {number: target.copy_foreign(layer) for number, layer in reducer.layers.items()}

    def copy_listed(listed: Any) -> Array:
        known = [copies.get(layer.objgen) for layer in listed] if isinstance(listed, Array) else []
        return Array([copy for copy in known if copy is not None])

    config = Dictionary()
    if states is not None:
        base = states.get("/BaseState")
        if isinstance(base, Name):
            config.BaseState = base
        for key in ("/ON", "/OFF"):
            config[key] = copy_listed(states.get(key))
        config.AS = Array(_list_layer_usages(states.get("/AS"), copy_listed))
    target.Root.OCProperties = target.make_indirect(Dictionary(OCGs=Array(list(copies.values())), D=config))


def _list_layer_usages(listed: Any, copy_listed: Any) -> list[Dictionary]:
    """Return the usage application dictionaries, reduced to the layers that ``copy_listed`` copies."""
    usages = []
    for usage in listed if isinstance(listed, Array) else ():
        if isinstance(usage, Dictionary) and isinstance(usage.get("/Event"), Name):
            categories = usage.get("/Category")
            names = [name for name in categories if isinstance(name, Name)] if isinstance(categories, Array) else []
            usages.append(Dictionary(Event=usage.Event, OCGs=copy_listed(usage.get("/OCGs")), Category=Array(names)))
    return usages
