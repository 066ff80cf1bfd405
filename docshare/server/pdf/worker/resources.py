"""The resources of kept pages, reduced to what those pages use. Runs inside the worker only.

Pages often share one resource dictionary, so it names images and fonts of other pages too; and what is drawn may carry
notes about the whole document (metadata, private data of programs, places in the structure tree). Nothing but what
drawing needs is kept.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from pikepdf import Array, Dictionary, Name, Object, Stream

from docshare.server.pdf.worker.contents import ResourceUse, find_text_codes, find_used_resources
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
# Of fonts, and of the fonts, descriptors and programs inside them. Which characters a subset holds is not repeated.
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
# Of colour profiles, functions and shadings.
_DATA_KEYS = STREAM_KEYS | {
    "/N", "/Alternate", "/Range", "/FunctionType", "/Domain", "/Size", "/BitsPerSample", "/Order", "/Encode",
    "/Decode", "/Functions", "/Bounds", "/C0", "/C1", "/ShadingType", "/ColorSpace", "/Background", "/BBox",
    "/AntiAlias", "/Coords", "/Extend", "/Function", "/Matrix", "/BitsPerCoordinate", "/BitsPerComponent",
    "/BitsPerFlag", "/VerticesPerRow",
}  # fmt: skip
_MASK_KEYS = frozenset({"/Type", "/S", "/G", "/BC", "/TR"})
_LAYER_KEYS = frozenset({"/Type", "/Name", "/Intent", "/Usage"})
_USAGE_KEYS = frozenset({"/View", "/Print", "/Export", "/Zoom"})
_LAYERS_KEYS = frozenset({"/Type", "/OCGs", "/P", "/VE"})
_MARK_KEYS = frozenset({"/Type", "/Subtype", "/MCID", "/Lang", "/ActualText", "/Alt", "/E", "/BBox", "/Attached"})
_GSTATE_KEYS = frozenset({
    "/Type", "/LW", "/LC", "/LJ", "/ML", "/D", "/RI", "/OP", "/op", "/OPM", "/Font", "/BG", "/BG2", "/UCR", "/UCR2",
    "/TR", "/TR2", "/HT", "/FL", "/SM", "/SA", "/BM", "/SMask", "/CA", "/ca", "/AIS", "/TK",
})  # fmt: skip
# Color spaces that stand for the device's own ones wherever resources name them.
_DEFAULT_COLOR_SPACES = frozenset(ResourceUse("/ColorSpace", f"/Default{model}") for model in ("Gray", "RGB", "CMYK"))
_MAX_DEPTH = 50
_MAX_DATA_DEPTH = 6


def keep_only(holder: Any, keys: Collection[str]) -> None:
    """Remove all entries of the dictionary or stream ``holder`` but ``keys``."""
    # The length of a stream is the library's, and cannot be removed.
    for key in [key for key in holder.keys() if key not in keys and key != "/Length"]:  # noqa: SIM118 - no mapping
        del holder[key]


@dataclass(eq=False)
class DrawnContent:
    """A form, pattern or drawn font: it takes the resources that it uses and does not bring from whoever draws it.

    ``missing``: those resources; ``inside``: what it draws that misses something too; ``contents``: the instructions
    that may show text in a font of ``missing``; ``given``: what those who draw it have for it, None where they differ.
    """

    holder: Any
    had_resources: bool
    contents: dict[tuple[int, int], Any] = field(default_factory=dict)
    missing: frozenset[ResourceUse] = frozenset()
    inside: list["DrawnContent"] = field(default_factory=list)
    given: dict[ResourceUse, Any] = field(default_factory=dict)

    def add(self, missing: Collection[ResourceUse], inside: Iterable["DrawnContent"]) -> None:
        """Note what else it misses and draws."""
        self.missing |= frozenset(missing)
        for drawing in inside:
            if drawing is not self and drawing not in self.inside:
                self.inside.append(drawing)
                self.contents |= drawing.contents

    def give(self, use: ResourceUse, value: Any) -> None:
        """Note that whoever draws this has ``value`` for ``use``."""
        if use not in self.missing or (self.had_resources and use in _DEFAULT_COLOR_SPACES):
            return  # default color spaces are not inherited by a form that has resources
        known = self.given.get(use, value)
        if use in self.given and (known is None or _is_same(known, value)):
            return
        self.given[use] = value if _is_same(known, value) else None
        for drawing in self.inside:
            drawing.give(use, value)

    def settle(self) -> None:
        """Write down what it was given: readers differ in where they look for what a form or font does not bring."""
        for use, value in self.given.items():
            if value is not None:
                _set_resource(self.holder.Resources, use, value)
        if not self.had_resources and None in self.given.values():
            del self.holder["/Resources"]  # it looks different on different pages, which keep what it takes


@dataclass
class _Type3Font:
    """A Type 3 font: ``resources`` as found; ``codes`` of all text that may be set in it; ``done``: its glyphs that are
    reduced."""

    drawing: DrawnContent
    glyphs: Any
    resources: Any
    codes: set[int] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


@dataclass
class _ReducedResources:
    """What is left of some resources: ``kept`` of them, ``missing`` in them, and what is drawn ``inside`` that misses
    something itself."""

    kept: Dictionary = field(default_factory=Dictionary)
    missing: set[ResourceUse] = field(default_factory=set)
    inside: list[DrawnContent] = field(default_factory=list)


class ResourceReducer:
    """Reduces resources in place, each object once, however many pages share it. ``layers``: optional content groups
    met on the way, by object number."""

    def __init__(self) -> None:
        self.layers: dict[tuple[int, int], Any] = {}
        self._drawings: dict[tuple[int, int], DrawnContent] = {}
        self._fonts: dict[tuple[int, int], _Type3Font] = {}
        self._codes: dict[tuple[int, int], frozenset[int]] = {}
        self._depth = 0

    def page(self, page: Any, resources: Any) -> Dictionary:
        """Return new resources of ``page``: the part of ``resources`` that it uses."""
        return self._reduced(resources, page, find_used_resources(page)).kept

    def look(self, form: Any, resources: Any) -> None:
        """Reduce the form XObject of an annotation, on a page with ``resources``."""
        drawing = self._form(form)
        self._resolve(resources, {(use, drawing) for use in drawing.missing})

    def finish(self) -> None:
        """Once all pages are known: complete forms and fonts, and remove the glyphs that no page shows."""
        for drawing in self._drawings.values():
            drawing.settle()
        for font in self._fonts.values():
            shown = _find_glyph_names(font.drawing.holder, font.codes)
            if shown is not None:
                keep_only(font.glyphs, shown)

    def _form(self, form: Any) -> DrawnContent:
        keep_only(form, _FORM_KEYS)
        self.layer_of(form)
        return self._drawing(form)

    def _drawing(self, stream: Any) -> DrawnContent:
        known = self._drawings.get(stream.objgen)
        if known is not None:  # perhaps one that draws itself
            return known
        drawing = self._drawings[stream.objgen] = DrawnContent(stream, "/Resources" in stream, {stream.objgen: stream})
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PdfRefused("contents")
        part = self._reduced(stream.get("/Resources"), stream, find_used_resources(stream))
        self._depth -= 1
        stream.Resources = part.kept
        drawing.add(part.missing, part.inside)
        return drawing

    def _reduced(self, resources: Any, content: Any, names: Iterable[ResourceUse]) -> _ReducedResources:
        """What ``content``, which says ``names``, uses of ``resources``."""
        return self._resolve(resources, {(use, None) for use in {*names, *_DEFAULT_COLOR_SPACES}}, content)

    def _resolve(
        self, resources: Any, wanted: set[tuple[ResourceUse, DrawnContent | None]], content: Any = None
    ) -> _ReducedResources:
        """Look up ``wanted``: resources, each with the drawing that does not bring it, None where ``content`` itself
        names it. Drawings that are met on the way add to it."""
        part = _ReducedResources()
        done: set[tuple[ResourceUse, DrawnContent | None]] = set()
        while wanted:
            use, drawing = wanted.pop()
            done.add((use, drawing))
            found = _find_resource(resources, use)
            if found is None:
                part.missing.add(use)
                continue
            if drawing is not None:
                drawing.give(use, found)
            for met in self._descend(use.category, found, list(drawing.contents.values()) if drawing else [content]):
                wanted |= {(name, met) for name in met.missing} - done
                if met.missing and met not in part.inside:
                    part.inside.append(met)
            _set_resource(part.kept, use, found)
        return part

    def _descend(self, category: str, found: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        """Reduce what a resource brings along; returns the drawings in it, which may take something from whoever draws
        them. ``contents``: the instructions that name it."""
        match category:
            case "/XObject":
                return self._xobject(found)
            case "/Font":
                return self._font(found, contents)
            case "/ExtGState":
                return self._state(found, contents)
            case "/Pattern":
                return self._pattern(found, contents)
            case "/Properties":
                self._mark(found)
            case _:
                _reduce_data(found)
        return []

    def _xobject(self, found: Any) -> list[DrawnContent]:
        if not isinstance(found, Stream):
            return []
        if found.get("/Subtype") == Name.Form:
            return [self._form(found)]
        for image in (found, found.get("/SMask"), found.get("/Mask")):
            if isinstance(image, Stream):
                keep_only(image, _IMAGE_KEYS)
                self.layer_of(image)
                _reduce_data(image.get("/ColorSpace"))
        return []

    def _font(self, font: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        """Glyphs of a drawn (Type 3) font are streams like any other; those of other fonts stay in their program.

        Only glyphs that ``contents`` may show are followed: the others may use what is on hidden pages.
        """
        _reduce_font(font)
        glyphs = font.get("/CharProcs")
        if not isinstance(glyphs, Dictionary):
            return []
        if not font.is_indirect:
            raise PdfRefused(
                "contents"
            )  # nobody writes such a font, and which of its glyphs are shared is hard to tell
        drawn = self._fonts.get(font.objgen)
        if drawn is None:
            drawing = self._drawings[font.objgen] = DrawnContent(font, "/Resources" in font)
            drawn = self._fonts[font.objgen] = _Type3Font(drawing, glyphs, font.get("/Resources"))
            font.Resources = Dictionary()
        drawn.codes.update(*map(self._codes_of, contents))
        shown = _find_glyph_names(font, drawn.codes)
        for name, glyph in list(glyphs.items()):
            if isinstance(glyph, Stream) and name not in drawn.done and (shown is None or name in shown):
                drawn.done.add(name)
                self._glyph(drawn, glyph)
        return [drawn.drawing]

    def _glyph(self, drawn: _Type3Font, glyph: Any) -> None:
        keep_only(glyph, STREAM_KEYS)
        part = self._reduced(drawn.resources, glyph, find_used_resources(glyph))
        for category in part.kept.keys():  # noqa: SIM118 - no mapping
            for key, value in part.kept[category].items():
                _set_resource(drawn.drawing.holder.Resources, ResourceUse(category, key), value)
        drawn.drawing.contents[glyph.objgen] = glyph
        drawn.drawing.add(part.missing, part.inside)

    def _codes_of(self, content: Any) -> frozenset[int]:
        if content.objgen not in self._codes:
            self._codes[content.objgen] = find_text_codes(content)
        return self._codes[content.objgen]

    def _state(self, state: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        keep_only(state, _GSTATE_KEYS)
        font, mask = state.get("/Font"), state.get("/SMask")
        drawings: list[DrawnContent] = []
        if isinstance(font, Array) and len(font) and isinstance(font[0], Dictionary):
            drawings += self._font(font[0], contents)
        if isinstance(mask, Dictionary):
            keep_only(mask, _MASK_KEYS)
            if isinstance(mask.get("/G"), Stream):
                drawings.append(self._form(mask.G))
        return drawings

    def _pattern(self, pattern: Any, contents: Iterable[Any]) -> list[DrawnContent]:
        keep_only(pattern, _PATTERN_KEYS)
        if isinstance(pattern, Stream):
            return [self._drawing(pattern)]
        _reduce_data(pattern.get("/Shading"))
        state = pattern.get("/ExtGState")
        return self._state(state, contents) if isinstance(state, Dictionary) else []

    def layer_of(self, holder: Any) -> None:
        """Reduce the layer that ``holder`` is on, if any."""
        layer = holder.get("/OC")
        if isinstance(layer, Dictionary):
            self._mark(layer)

    def _mark(self, mark: Any) -> None:
        """A layer, a set of layers, or what is said about a piece of content."""
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
                self._mark(layer)
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


def _reduce_data(value: Any, depth: int = 0) -> None:
    """Reduce a colour space, function or shading, and those inside it."""
    if depth > _MAX_DATA_DEPTH:
        return
    if isinstance(value, Dictionary | Stream):
        keep_only(value, _DATA_KEYS)
        for key in ("/Alternate", "/ColorSpace", "/Function", "/Functions"):
            _reduce_data(value.get(key), depth + 1)
    elif isinstance(value, Array):
        for item in value:
            _reduce_data(item, depth + 1)


def _find_resource(resources: Any, use: ResourceUse) -> Any:
    part = resources.get(use.category) if isinstance(resources, Dictionary) else None
    return part.get(use.key) if isinstance(part, Dictionary) else None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two resources are one object, or alike where they stand directly in a dictionary."""
    if not isinstance(one, Object) or not isinstance(other, Object):
        return False
    if one.is_indirect or other.is_indirect:
        return bool(one.objgen == other.objgen)
    return bool(one.unparse() == other.unparse())


def _set_resource(resources: Dictionary, use: ResourceUse, value: Any) -> None:
    if use.category not in resources:
        resources[use.category] = Dictionary()
    resources[use.category][use.key] = value


def _flatten_layers(*values: Any, depth: int = 0) -> Iterable[Any]:
    """The layers in ``values``: dictionaries, and arrays (expressions) of them."""
    for value in values:
        if isinstance(value, Array) and depth < _MAX_DEPTH:
            yield from _flatten_layers(*value, depth=depth + 1)
        elif isinstance(value, Dictionary) and value.get("/Type") == Name.OCG:
            yield value


def _find_glyph_names(font: Any, codes: Collection[int]) -> set[str] | None:
    """The glyphs that ``font`` draws for ``codes``; None if it does not name them all itself, as drawn fonts should."""
    encoding = font.get("/Encoding")
    differences = encoding.get("/Differences") if isinstance(encoding, Dictionary) else None
    if not isinstance(differences, Array) or "/BaseEncoding" in encoding:
        return None
    names: set[str] = set()
    code = 0
    for value in differences:
        if isinstance(value, int):
            code = value
        elif isinstance(value, Object):
            if code in codes:
                names.add(str(value))
            code += 1
    return names
