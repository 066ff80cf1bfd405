"""Reduce the resources of kept pages to what those pages use. Runs only inside the worker.

Pages often share one resource dictionary, which then names images and fonts of other pages too. Drawn objects can also
hold information about the whole document: metadata, private data of applications, references to the structure tree.
Only entries that are needed for drawing are kept.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from pikepdf import Array, Dictionary, Name, Object, Stream

from docshare.server.pdf.worker.contents import ResourceUse, find_glyph_names, find_text_codes, find_used_resources
from docshare.server.pdf.worker.documents import PdfRefused

STREAM_KEYS = frozenset({"/Length", "/Filter", "/DecodeParms", "/DL"})
_FORM_KEYS = STREAM_KEYS | {"/Type", "/Subtype", "/FormType", "/BBox", "/Matrix", "/Resources", "/Group", "/OC"}
_IMAGE_KEYS = STREAM_KEYS | {
    "/Type", "/Subtype", "/Width", "/Height", "/ColorSpace", "/BitsPerComponent", "/Intent", "/ImageMask", "/Mask",
    "/Decode", "/Interpolate", "/SMask", "/SMaskInData", "/Matte", "/OC",
}  # fmt: skip
_PATTERN_KEYS = STREAM_KEYS | {
    "/Type", "/PatternType", "/PaintType", "/TilingType", "/BBox", "/XStep", "/YStep", "/Resources", "/Matrix",
    "/Shading", "/ExtGState",
}  # fmt: skip
# Keys of fonts and of the fonts, descriptors and programs inside them. /CharSet and /CIDSet are dropped: they list the
# characters of a subset.
_FONT_KEYS = frozenset({
    "/Type", "/Subtype", "/BaseFont", "/FirstChar", "/LastChar", "/Widths", "/FontDescriptor", "/Encoding",
    "/ToUnicode", "/FontBBox", "/FontMatrix", "/CharProcs", "/Resources", "/DescendantFonts", "/CIDSystemInfo", "/DW",
    "/W", "/DW2", "/W2", "/CIDToGIDMap",
})  # fmt: skip
_DESCRIPTOR_KEYS = frozenset({
    "/Type", "/FontName", "/FontFamily", "/FontStretch", "/FontWeight", "/Flags", "/FontBBox", "/ItalicAngle",
    "/Ascent", "/Descent", "/Leading", "/CapHeight", "/XHeight", "/StemV", "/StemH", "/AvgWidth", "/MaxWidth",
    "/MissingWidth", "/FontFile", "/FontFile2", "/FontFile3", "/Style",
})  # fmt: skip
_PROGRAM_KEYS = STREAM_KEYS | {
    "/Type", "/Subtype", "/Length1", "/Length2", "/Length3", "/CMapName", "/CIDSystemInfo", "/WMode", "/UseCMap",
}  # fmt: skip
# Keys of color profiles, functions and shadings.
_DATA_KEYS = STREAM_KEYS | {
    "/N", "/Alternate", "/Range", "/FunctionType", "/Domain", "/Size", "/BitsPerSample", "/Order", "/Encode",
    "/Decode", "/Functions", "/Bounds", "/C0", "/C1", "/ShadingType", "/ColorSpace", "/Background", "/BBox",
    "/AntiAlias", "/Coords", "/Extend", "/Function", "/Matrix", "/BitsPerCoordinate", "/BitsPerComponent",
    "/BitsPerFlag", "/VerticesPerRow",
}  # fmt: skip
_GROUP_KEYS = frozenset({"/Type", "/S", "/CS", "/I", "/K"})
_MASK_KEYS = frozenset({"/Type", "/S", "/G", "/BC", "/TR"})
_LAYER_KEYS = frozenset({"/Type", "/Name", "/Intent", "/Usage"})
_USAGE_KEYS = frozenset({"/View", "/Print", "/Export", "/Zoom"})
_LAYERS_KEYS = frozenset({"/Type", "/OCGs", "/P", "/VE"})
_MARK_KEYS = frozenset({"/Type", "/Subtype", "/MCID", "/Lang", "/ActualText", "/Alt", "/E", "/BBox", "/Attached"})
_GSTATE_KEYS = frozenset({
    "/Type", "/LW", "/LC", "/LJ", "/ML", "/D", "/RI", "/OP", "/op", "/OPM", "/Font", "/BG", "/BG2", "/UCR", "/UCR2",
    "/TR", "/TR2", "/HT", "/FL", "/SM", "/SA", "/BM", "/SMask", "/CA", "/ca", "/AIS", "/TK",
})  # fmt: skip
# Color spaces that replace those of the device wherever resources define them.
_DEFAULT_COLOR_SPACES = frozenset(ResourceUse("/ColorSpace", f"/Default{model}") for model in ("Gray", "RGB", "CMYK"))
_MAX_DEPTH = 50


def keep_only(holder: Any, keys: Collection[str]) -> None:
    """Remove all entries except ``keys`` from the dictionary or stream ``holder``."""
    # pikepdf manages the length of a stream, so it cannot be removed.
    for key in [key for key in holder.keys() if key not in keys and key != "/Length"]:  # noqa: SIM118 - no mapping
        del holder[key]


@dataclass(eq=False)
class DrawnContent:
    """A form, pattern or Type 3 font, which inherits the resources that it uses but does not define.

    ``missing``: those resources; ``nested``: drawn objects in it that inherit resources too; ``contents``: the content
    streams that can show text in a font of ``missing``; ``provided``: the inherited value of each resource, None if
    users of this object have different values.
    """

    holder: Any
    had_resources: bool
    contents: dict[tuple[int, int], Any] = field(default_factory=dict)
    missing: frozenset[ResourceUse] = frozenset()
    nested: list["DrawnContent"] = field(default_factory=list)
    provided: dict[ResourceUse, Any] = field(default_factory=dict)

    def add(self, missing: Collection[ResourceUse], nested: Iterable["DrawnContent"]) -> None:
        """Add further missing resources and further objects that it draws."""
        self.missing |= frozenset(missing)
        for drawing in nested:
            if drawing is not self and drawing not in self.nested:
                self.nested.append(drawing)
                self.contents |= drawing.contents

    def provide(self, use: ResourceUse, value: Any) -> None:
        """Record that a user of this object has ``value`` for ``use``."""
        if use not in self.missing or (self.had_resources and use in _DEFAULT_COLOR_SPACES):
            return  # a form with resources does not inherit default color spaces
        known = self.provided.get(use, value)
        if use in self.provided and (known is None or _is_same(known, value)):
            return
        self.provided[use] = value if _is_same(known, value) else None
        for drawing in self.nested:
            drawing.provide(use, value)

    def write_provided(self) -> None:
        """Store the inherited resources in the object itself, because viewers differ in how they look them up."""
        for use, value in self.provided.items():
            if value is not None:
                _set_resource(self.holder.Resources, use, value)
        if not self.had_resources and None in self.provided.values():
            del self.holder["/Resources"]  # users have different values, so each of them keeps its own


@dataclass
class _Type3Font:
    """A Type 3 font: ``resources`` before the reduction; ``codes``: the character codes that can be shown in it;
    ``done``: the glyphs that are already reduced."""

    drawing: DrawnContent
    glyphs: Any
    resources: Any
    codes: set[int] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


@dataclass
class _ReducedResources:
    """Reduced resources: ``kept`` are the used ones, ``missing`` the undefined ones, and ``inside`` the drawn objects
    that inherit resources."""

    kept: Dictionary = field(default_factory=Dictionary)
    missing: set[ResourceUse] = field(default_factory=set)
    inside: list[DrawnContent] = field(default_factory=list)


class ResourceReducer:
    """Reduces resources in place. An object that several pages share is reduced once. ``layers`` collects the optional
    content groups by object number."""

    def __init__(self) -> None:
        self.layers: dict[tuple[int, int], Any] = {}
        self._drawings: dict[tuple[int, int], DrawnContent] = {}
        self._fonts: dict[tuple[int, int], _Type3Font] = {}
        self._codes: dict[tuple[int, int], frozenset[int]] = {}
        self._depth = 0

    def reduce_page(self, page: Any, resources: Any) -> Dictionary:
        """Return the part of ``resources`` that ``page`` uses."""
        return self._reduce(resources, page, find_used_resources(page)).kept

    def reduce_appearance(self, form: Any, resources: Any) -> None:
        """Reduce the form XObject of an annotation, on a page with ``resources``."""
        drawing = self._reduce_form(form)
        self._resolve(resources, {(use, drawing) for use in drawing.missing})

    def finish(self) -> None:
        """Complete forms and fonts after the last page, and remove the glyphs that no page shows."""
        for drawing in self._drawings.values():
            drawing.write_provided()
        for font in self._fonts.values():
            used_glyphs = find_glyph_names(font.drawing.holder, font.codes)
            if used_glyphs is not None:
                keep_only(font.glyphs, used_glyphs)

    def _reduce_form(self, form: Any) -> DrawnContent:
        keep_only(form, _FORM_KEYS)
        reduce_group(form)
        self.reduce_layer(form)
        return self._find_drawing(form)

    def _find_drawing(self, stream: Any) -> DrawnContent:
        known = self._drawings.get(stream.objgen)
        if known is not None:  # also ends the recursion of a form that draws itself
            return known
        drawing = self._drawings[stream.objgen] = DrawnContent(stream, "/Resources" in stream, {stream.objgen: stream})
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PdfRefused("contents")
        part = self._reduce(stream.get("/Resources"), stream, find_used_resources(stream))
        self._depth -= 1
        stream.Resources = part.kept
        drawing.add(part.missing, part.inside)
        return drawing

    def _reduce(self, resources: Any, content: Any, names: Iterable[ResourceUse]) -> _ReducedResources:
        """Return the part of ``resources`` that ``content`` uses by ``names``."""
        return self._resolve(resources, {(use, None) for use in {*names, *_DEFAULT_COLOR_SPACES}}, content)

    def _resolve(
        self, resources: Any, pending: set[tuple[ResourceUse, DrawnContent | None]], content: Any = None
    ) -> _ReducedResources:
        """Look up the resources ``pending``, each paired with the drawn object that inherits it, or None if ``content``
        itself names it. Also look up the resources that drawn objects found on the way inherit."""
        part = _ReducedResources()
        done: set[tuple[ResourceUse, DrawnContent | None]] = set()
        while pending:
            use, drawing = pending.pop()
            done.add((use, drawing))
            found = _find_resource(resources, use)
            if found is None:
                part.missing.add(use)
                continue
            if drawing is not None:
                drawing.provide(use, found)
            for inner in self._descend(use.category, found, list(drawing.contents.values()) if drawing else [content]):
                pending |= {(name, inner) for name in inner.missing} - done
                if inner.missing and inner not in part.inside:
                    part.inside.append(inner)
            _set_resource(part.kept, use, found)
        return part

    def _descend(self, category: str, found: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        """Reduce the resource ``found``; return the drawn objects in it, which can inherit resources. ``contents``: the
        content streams that name it."""
        match category:
            case "/XObject":
                return self._reduce_xobject(found)
            case "/Font":
                return self._reduce_font(found, contents)
            case "/ExtGState":
                return self._reduce_state(found, contents)
            case "/Pattern":
                return self._reduce_pattern(found, contents)
            case "/Properties":
                self._reduce_marked_content(found)
            case _:
                _reduce_data(found)
        return []

    def _reduce_xobject(self, found: Any) -> list[DrawnContent]:
        if not isinstance(found, Stream):
            return []
        if found.get("/Subtype") == Name.Form:
            return [self._reduce_form(found)]
        for image in (found, found.get("/SMask"), found.get("/Mask")):
            if isinstance(image, Stream):
                keep_only(image, _IMAGE_KEYS)
                self.reduce_layer(image)
                _reduce_data(image.get("/ColorSpace"))
        return []

    def _reduce_font(self, font: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        """Reduce a font. The glyphs of a Type 3 font are content streams; other fonts keep their font program.

        Skips glyphs that ``contents`` cannot show, because they may use resources of hidden pages.
        """
        _reduce_font(font)
        glyphs = font.get("/CharProcs")
        if not isinstance(glyphs, Dictionary):
            return []
        if not font.is_indirect:
            raise PdfRefused(
                "contents"
            )  # no known software writes such fonts, and shared glyphs in them are hard to detect
        type3 = self._fonts.get(font.objgen)
        if type3 is None:
            drawing = self._drawings[font.objgen] = DrawnContent(font, "/Resources" in font)
            type3 = self._fonts[font.objgen] = _Type3Font(drawing, glyphs, font.get("/Resources"))
            font.Resources = Dictionary()
        type3.codes.update(*map(self._find_codes, contents))
        used_glyphs = find_glyph_names(font, type3.codes)
        for name, glyph in list(glyphs.items()):
            if isinstance(glyph, Stream) and name not in type3.done and (used_glyphs is None or name in used_glyphs):
                type3.done.add(name)
                self._reduce_glyph(type3, glyph)
        return [type3.drawing]

    def _reduce_glyph(self, type3: _Type3Font, glyph: Any) -> None:
        keep_only(glyph, STREAM_KEYS)
        part = self._reduce(type3.resources, glyph, find_used_resources(glyph))
        for category in part.kept.keys():  # noqa: SIM118 - no mapping
            for key, value in part.kept[category].items():
                _set_resource(type3.drawing.holder.Resources, ResourceUse(category, key), value)
        type3.drawing.contents[glyph.objgen] = glyph
        type3.drawing.add(part.missing, part.inside)

    def _find_codes(self, content: Any) -> frozenset[int]:
        if content.objgen not in self._codes:
            self._codes[content.objgen] = find_text_codes(content)
        return self._codes[content.objgen]

    def _reduce_state(self, state: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        keep_only(state, _GSTATE_KEYS)
        font, mask = state.get("/Font"), state.get("/SMask")
        drawings: list[DrawnContent] = []
        if isinstance(font, Array) and len(font) and isinstance(font[0], Dictionary):
            drawings += self._reduce_font(font[0], contents)
        if isinstance(mask, Dictionary):
            keep_only(mask, _MASK_KEYS)
            if isinstance(mask.get("/G"), Stream):
                drawings.append(self._reduce_form(mask.G))
        return drawings

    def _reduce_pattern(self, pattern: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        keep_only(pattern, _PATTERN_KEYS)
        if isinstance(pattern, Stream):
            return [self._find_drawing(pattern)]
        _reduce_data(pattern.get("/Shading"))
        state = pattern.get("/ExtGState")
        return self._reduce_state(state, contents) if isinstance(state, Dictionary) else []

    def reduce_layer(self, holder: Any) -> None:
        """Reduce the layer that ``holder`` is on, if any."""
        layer = holder.get("/OC")
        if isinstance(layer, Dictionary):
            self._reduce_marked_content(layer)

    def _reduce_marked_content(self, mark: Any) -> None:
        """Reduce a layer, a set of layers, or the properties of marked content."""
        kind = mark.get("/Type")
        if kind == Name.OCG:
            keep_only(mark, _LAYER_KEYS)
            if isinstance(mark.get("/Usage"), Dictionary):
                keep_only(mark.Usage, _USAGE_KEYS)
            if mark.is_indirect:
                self.layers[mark.objgen] = mark
        elif kind == Name.OCMD:
            keep_only(mark, _LAYERS_KEYS)
            for layer in _flatten_layers(mark.get("/OCGs"), mark.get("/VE")):
                self._reduce_marked_content(layer)
        else:
            keep_only(mark, _MARK_KEYS)


def _reduce_font(font: Any) -> None:
    keep_only(font, _FONT_KEYS)
    inside = font.get("/DescendantFonts")
    for part in (font, *(inside if isinstance(inside, Array) else ())):
        if not isinstance(part, Dictionary):
            continue
        keep_only(part, _FONT_KEYS)
        descriptor = part.get("/FontDescriptor")
        programs = [part.get("/ToUnicode"), part.get("/Encoding"), part.get("/CIDToGIDMap")]
        if isinstance(descriptor, Dictionary):
            keep_only(descriptor, _DESCRIPTOR_KEYS)
            programs += [descriptor.get(key) for key in ("/FontFile", "/FontFile2", "/FontFile3")]
        for program in programs:
            if isinstance(program, Stream):
                keep_only(program, _PROGRAM_KEYS)


def reduce_group(holder: Any) -> None:
    """Reduce the transparency group of ``holder``, a page or form, if it is one."""
    group = holder.get("/Group")
    if isinstance(group, Dictionary):
        keep_only(group, _GROUP_KEYS)
        _reduce_data(group.get("/CS"))


def _reduce_data(start: Any) -> None:
    """Reduce a color space, function or shading, and those inside it."""
    for value in _walk([start]):
        if isinstance(value, Dictionary | Stream):
            keep_only(value, _DATA_KEYS)


def _walk(waiting: list[Any]) -> Iterable[Any]:
    """Yield ``waiting`` and what is inside: items of arrays, color spaces and functions. Yields an indirect object only
    once, because documents can nest them endlessly."""
    seen: set[tuple[int, int]] = set()
    while waiting:
        value = waiting.pop()
        if not isinstance(value, Object) or (value.is_indirect and value.objgen in seen):
            continue
        if value.is_indirect:
            seen.add(value.objgen)
        yield value
        if isinstance(value, Array):
            waiting.extend(value)
        elif isinstance(value, Dictionary | Stream):
            waiting += [value.get(key) for key in ("/Alternate", "/ColorSpace", "/Function", "/Functions")]


def _find_resource(resources: Any, use: ResourceUse) -> Any:
    part = resources.get(use.category) if isinstance(resources, Dictionary) else None
    return part.get(use.key) if isinstance(part, Dictionary) else None


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two resources are the same object, or equal if both are direct objects."""
    if not isinstance(one, Object) or not isinstance(other, Object):
        return False
    if one.is_indirect or other.is_indirect:
        return bool(one.objgen == other.objgen)
    return bool(one.unparse() == other.unparse())


def _set_resource(resources: Dictionary, use: ResourceUse, value: Any) -> None:
    if use.category not in resources:
        resources[use.category] = Dictionary()
    resources[use.category][use.key] = value


def _flatten_layers(*values: Any) -> Iterable[Any]:
    """Yield the layers in ``values``, which are dictionaries or nested arrays (expressions) of them."""
    for value in _walk(list(values)):
        if isinstance(value, Dictionary) and value.get("/Type") == Name.OCG:
            yield value
