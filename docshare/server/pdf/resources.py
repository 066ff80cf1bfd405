"""The resources of kept pages, reduced to what those pages use. Runs inside the worker only.

Pages often share one resource dictionary, so it names images and fonts of other pages too; and what is drawn may carry
notes about the whole document (metadata, private data of programs, places in the structure tree). Nothing but what
drawing needs is kept.
"""

from collections.abc import Collection, Iterable
from typing import Any

from pikepdf import Array, Dictionary, Name, Object, Stream

from docshare.server.pdf.contents import Use, used
from docshare.server.pdf.documents import Refused

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
_MOST_DEPTH = 50
_DATA_DEPTH = 6


def keep_only(holder: Any, keys: Collection[str]) -> None:
    """Remove all entries of the dictionary or stream ``holder`` but ``keys``."""
    # The length of a stream is the library's, and cannot be removed.
    for key in [key for key in holder.keys() if key not in keys and key != "/Length"]:  # noqa: SIM118 - no mapping
        del holder[key]


class Reducer:
    """Reduces resources in place, each object once, however many pages share it. ``layers``: optional content groups
    met on the way, by object number."""

    def __init__(self) -> None:
        self.layers: dict[tuple[int, int], Any] = {}
        self._unresolved: dict[tuple[int, int], frozenset[Use]] = {}
        self._fonts: dict[tuple[int, int], tuple[Any, Any, set[int]]] = {}
        self._depth = 0

    def page(self, page: Any, resources: Any) -> Dictionary:
        """New resources of ``page``: what of ``resources`` it uses."""
        kept, _ = self._reduced(resources, page)
        return kept

    def form(self, form: Any) -> frozenset[Use]:
        """Reduce a form XObject; returns what it uses and does not bring: it means its page's resources then."""
        keep_only(form, _FORM_KEYS)
        self.layer_of(form)
        return self._drawing(form)

    def finish(self) -> None:
        """Once all pages are known: remove the glyphs of drawn fonts that none of them shows."""
        for font, glyphs, codes in self._fonts.values():
            shown = _glyph_names(font, codes)
            if shown is not None:
                keep_only(glyphs, shown)

    def _drawing(self, stream: Any) -> frozenset[Use]:
        known = self._unresolved.get(stream.objgen)
        if known is not None:
            return known
        self._unresolved[stream.objgen] = frozenset()  # a form may draw itself
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise Refused("contents")
        stream.Resources, unresolved = self._reduced(stream.get("/Resources"), stream)
        self._depth -= 1
        self._unresolved[stream.objgen] = unresolved
        return unresolved

    def _reduced(self, resources: Any, content: Any) -> tuple[Dictionary, frozenset[Use]]:
        """What ``content`` uses of ``resources``, and what it uses that is not there."""
        names, codes = used(content)
        kept, unresolved = Dictionary(), set()
        waiting = set(names) | {Use("/ColorSpace", f"/Default{model}") for model in ("Gray", "RGB", "CMYK")}
        done: set[Use] = set()
        while waiting:
            use = waiting.pop()
            done.add(use)
            found = _found(resources, use)
            if found is None:
                unresolved.add(use)
                continue
            waiting |= self._descend(use.category, found, codes) - done
            _put(kept, use, found)
        return kept, frozenset(unresolved)

    def _descend(self, category: str, found: Any, codes: Iterable[int]) -> frozenset[Use]:
        """Reduce what a resource brings along; returns what it takes from whoever draws it."""
        match category:
            case "/XObject":
                return self._xobject(found)
            case "/Font":
                return self._font(found, codes)
            case "/ExtGState":
                return self._state(found, codes)
            case "/Pattern":
                return self._pattern(found, codes)
            case "/Properties":
                self._mark(found)
            case _:
                _reduce_data(found)
        return frozenset()

    def _xobject(self, found: Any) -> frozenset[Use]:
        if not isinstance(found, Stream):
            return frozenset()
        if found.get("/Subtype") == Name.Form:
            return self.form(found)
        for image in (found, found.get("/SMask"), found.get("/Mask")):
            if isinstance(image, Stream):
                keep_only(image, _IMAGE_KEYS)
                self.layer_of(image)
                _reduce_data(image.get("/ColorSpace"))
        return frozenset()

    def _font(self, font: Any, codes: Iterable[int]) -> frozenset[Use]:
        """Glyphs of a drawn (Type 3) font are streams like any other; those of other fonts stay in their program."""
        _reduce_font(font)
        glyphs = font.get("/CharProcs")
        if not isinstance(glyphs, Dictionary):
            return frozenset()
        if not font.is_indirect:
            raise Refused("contents")  # nobody writes such a font, and which of its glyphs are shared is hard to tell
        if font.objgen in self._fonts:
            self._fonts[font.objgen][2].update(codes)
            return self._unresolved[font.objgen]
        self._fonts[font.objgen] = (font, glyphs, set(codes))
        self._unresolved[font.objgen] = frozenset()
        kept = Dictionary()
        unresolved: set[Use] = set()
        for glyph in [glyph for _, glyph in glyphs.items() if isinstance(glyph, Stream)]:
            keep_only(glyph, STREAM_KEYS)
            part, missing = self._reduced(font.get("/Resources"), glyph)
            unresolved |= missing
            for category in part.keys():  # noqa: SIM118 - no mapping
                for key, value in part[category].items():
                    _put(kept, Use(category, key), value)
        font.Resources = kept
        self._unresolved[font.objgen] = frozenset(unresolved)
        return frozenset(unresolved)

    def _state(self, state: Any, codes: Iterable[int]) -> frozenset[Use]:
        keep_only(state, _GSTATE_KEYS)
        font, mask = state.get("/Font"), state.get("/SMask")
        unresolved: frozenset[Use] = frozenset()
        if isinstance(font, Array) and len(font) and isinstance(font[0], Dictionary):
            unresolved |= self._font(font[0], codes)
        if isinstance(mask, Dictionary):
            keep_only(mask, _MASK_KEYS)
            if isinstance(mask.get("/G"), Stream):
                unresolved |= self.form(mask.G)
        return unresolved

    def _pattern(self, pattern: Any, codes: Iterable[int]) -> frozenset[Use]:
        keep_only(pattern, _PATTERN_KEYS)
        if isinstance(pattern, Stream):
            return self._drawing(pattern)
        _reduce_data(pattern.get("/Shading"))
        state = pattern.get("/ExtGState")
        return self._state(state, codes) if isinstance(state, Dictionary) else frozenset()

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
            for layer in _flat(mark.get("/OCGs"), mark.get("/VE")):
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
    if depth > _DATA_DEPTH:
        return
    if isinstance(value, Dictionary | Stream):
        keep_only(value, _DATA_KEYS)
        for key in ("/Alternate", "/ColorSpace", "/Function", "/Functions"):
            _reduce_data(value.get(key), depth + 1)
    elif isinstance(value, Array):
        for item in value:
            _reduce_data(item, depth + 1)


def _found(resources: Any, use: Use) -> Any:
    part = resources.get(use.category) if isinstance(resources, Dictionary) else None
    return part.get(use.key) if isinstance(part, Dictionary) else None


def _put(resources: Dictionary, use: Use, value: Any) -> None:
    if use.category not in resources:
        resources[use.category] = Dictionary()
    resources[use.category][use.key] = value


def _flat(*values: Any, depth: int = 0) -> Iterable[Any]:
    """The layers in ``values``: dictionaries, and arrays (expressions) of them."""
    for value in values:
        if isinstance(value, Array) and depth < _MOST_DEPTH:
            yield from _flat(*value, depth=depth + 1)
        elif isinstance(value, Dictionary) and value.get("/Type") == Name.OCG:
            yield value


def _glyph_names(font: Any, codes: Collection[int]) -> set[str] | None:
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
