"""Data on standard output: one ``emit`` for every command, so that every command supports every format.

A ``Spec`` has the columns for people and the keys for scripts. On a terminal the default is a table; on a pipe it is
``plain``: tab-separated values without header, color or truncation. ``--json`` prints what the API sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from docshare.cli.framework.exits import UNRENDERED, ExitCode, Stop
from docshare.cli.framework.options import FORMATS, JSON_FORMATS
from docshare.cli.local.settings import resolve_setting
from docshare.cli.terminal.cells import format_cell, get_nested, get_value
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_MAX_REASON_CHARS = 200
# The exceptions of jmespath: its own errors are ValueErrors, and some expressions fail in Python, such as '[::0]'.
_QUERY_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)


class Column(NamedTuple):
    """One column of the table for people.

    ``key``: dotted key of the row; ``title``: heading; ``kind``: how to format the value: text, size (bytes), when
    (relative time), moment (local and relative time), duration (milliseconds), flag (yes or no); ``role``: color;
    ``rank``: on a narrow terminal the column with the highest rank is dropped first, 0 never; ``flexible``: may be
    clipped; ``show``: computes the text from the whole row instead; ``link``: dotted key of the URL that the text links
    to on a terminal with hyperlinks, or a function that computes it from the whole row.
    """

    key: str
    title: str
    kind: str = "text"
    role: str = ""
    rank: int = 0
    flexible: bool = False
    show: Callable[[Mapping[str, Any]], str] | None = None
    link: str | Callable[[Mapping[str, Any]], str] = ""


class Spec(NamedTuple):
    """The output of a command.

    ``table``: columns for people. ``plain``: keys for scripts, in an order that never changes. ``fields``: every key
    that ``--fields`` accepts. ``id``: the key that ``--format ids`` prints. ``empty``: note on stderr for people when a
    list is empty. ``human``: lines for people instead of the table (``row, context -> lines``). ``once``: keys that
    cannot be fetched again, printed on stderr if stdout cannot be written.
    """

    table: tuple[Column, ...] = ()
    plain: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    id: str = ""
    empty: str = ""
    human: "Callable[[Mapping[str, Any], Context], Iterable[str]] | None" = None
    once: tuple[str, ...] = ()

    def known_fields(self) -> tuple[str, ...]:
        """Every key that ``--fields`` accepts, in order and without duplicates."""
        return tuple(dict.fromkeys((*self.plain, *self.fields)))


class FieldNamesRequest(Exception):
    """Raised for ``--fields ?``; ``names``: the fields that the command can print."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        super().__init__()


class Emitter:
    """Prints rows in the requested format. Created before the work starts, so that a bad option fails early."""

    def __init__(self, context: "Context", spec: Spec) -> None:
        self._ctx = context
        self._spec = spec
        self._format = resolve_format(context)
        self._fields = resolve_fields(context, spec)
        self._query = compile_query(context.options.query)
        self._template = compile_template(context.options.template, () if self._query else spec.known_fields())
        self._header_printed = False
        if self._format == "ids" and not spec.id:
            raise Stop(ExitCode.USAGE, "--format ids is not available for this command")

    @property
    def format(self) -> str:
        """Return the format in effect, one of ``options.FORMATS``."""
        return self._format

    @property
    def is_default_shape(self) -> bool:
        """Return whether the output has the default format of the stream."""
        suits = "table" if self._ctx.stdout_tty else "plain"
        return self._format == suits and self._template is None and not self._is_reshaped

    @property
    def is_for_people(self) -> bool:
        """Return whether people read the output on a terminal and no option reshapes it."""
        return self._format == "table" and self._template is None and not self._is_reshaped

    def emit(self, data: Any) -> None:
        """Print one object or a list of objects."""
        self._record_once_keys(data)
        data = self._select(data)
        if self._template is not None:
            rows = normalize_rows(data)
            if self._query is not None or not self._spec.known_fields():
                _check_template(str(self._ctx.options.template), rows)
            self._print_lines(self._template(row) for row in rows)
        elif self._format == "json":
            self._ctx.print(self._format_json(data, pretty=self._ctx.stdout_tty))
        elif self._format == "jsonl":
            self._print_lines(self._format_json(row) for row in (data if isinstance(data, list) else [data]))
        elif self._format == "table":
            self._print_table(data)
        else:
            self._print_flat(data)

    def emit_row(self, row: Any) -> None:
        """Print one row immediately; ``--json`` prints one line of JSON per row."""
        self._record_once_keys(row)
        row = self._select(row)
        if self._template is not None:
            self._ctx.print(self._template(row))
        elif self._format in ("json", "jsonl"):
            self._ctx.print(self._format_json(row))
        elif self._format == "table" and self._spec.human is not None and isinstance(row, Mapping) and not self._fields:
            self._print_lines(self._spec.human(row, self._ctx))
        else:
            self._print_flat([row])
        self._ctx.flush()

    def _record_once_keys(self, data: Any) -> None:
        for row in normalize_rows(data) if self._spec.once else ():
            self._ctx.pending_output += [str(row[key]) for key in self._spec.once if row.get(key)]

    def _select(self, data: Any) -> Any:
        if self._query is not None:
            data = run_query(self._query, data)
        if not self._fields:
            return data
        if isinstance(data, list):
            return [self._pick_fields(row) for row in data]
        return self._pick_fields(data)

    def _pick_fields(self, row: Any) -> Any:
        found = {key: get_nested(row, key) for key in self._fields}
        return {key: value for key, value in found.items() if value is not None}

    def _print_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._ctx.print(line)

    def _format_json(self, data: Any, *, pretty: bool = False) -> str:
        ascii_only = self._ctx.stdout_tty or not self._ctx.out_screen.unicode
        return format_json(data, ascii_only=ascii_only, pretty=pretty)

    def _print_table(self, data: Any) -> None:
        from docshare.cli.terminal import table

        if isinstance(data, Mapping) and self._spec.human is not None and not self._is_reshaped:
            self._print_lines(self._spec.human(data, self._ctx))
        elif isinstance(data, Mapping):
            self._print_lines(table.render_pairs(self._choose_columns([data]), data, self._ctx))
        elif data or not self._spec.empty:
            rows = normalize_rows(data)
            # A value that cannot be fetched again stays on the terminal.
            table.print_table(self._choose_columns(rows), rows, self._ctx, may_page=not self._spec.once)
        elif self._spec.empty:
            self._ctx.note(self._spec.empty)

    @property
    def _is_reshaped(self) -> bool:
        return bool(self._fields) or self._query is not None

    def _choose_columns(self, rows: Sequence[Any]) -> tuple[Column, ...]:
        if not self._is_reshaped and self._spec.table:
            return self._spec.table
        known = {column.key: column for column in self._spec.table}
        keys = self._fields or tuple(dict.fromkeys(key for row in rows for key in row))
        return tuple(known.get(key, Column(key, clean(key).upper(), flexible=True)) for key in keys)

    def _print_flat(self, data: Any) -> None:
        rows = normalize_rows(data)
        if self._format == "ids":
            self._print_lines(format_cell(get_nested(row, self._spec.id)) for row in rows)
        elif isinstance(data, Mapping) and self._format == "plain" and not self._fields and not self._is_single_value:
            first = () if self._is_reshaped else self._spec.plain
            keys = dict.fromkeys((*first, *(key for key in data if not _is_spread(data[key], key, first))))
            found = {key: get_value(data, key) for key in keys}
            self._print_lines(
                f"{clean(key)}\t{format_cell(value)}" for key, value in found.items() if value is not None
            )
        else:
            self._print_delimited(rows)

    @property
    def _is_single_value(self) -> bool:
        """Return whether to print only the single value of an object: ``key=$(docshare admin key create ...)``."""
        return len(self._spec.plain) == 1 and self._query is None

    def _print_delimited(self, rows: Sequence[Any]) -> None:
        keys = self._fields
        if not keys and self._query is None:
            keys = self._spec.plain
        if not keys:
            keys = tuple(dict.fromkeys(key for row in rows for key in row))
        header = self._ctx.options.header
        if (self._format != "plain" if header is None else header) and not self._header_printed:
            self._print_delimited_line(keys)
        self._header_printed = True
        for row in rows:
            self._print_delimited_line([get_value(row, key) for key in keys])

    def _print_delimited_line(self, values: Sequence[Any]) -> None:
        if self._format == "csv":
            from docshare.cli.terminal.csv_line import format_csv_line

            self._ctx.print(format_csv_line(values, raw=self._ctx.options.raw_csv, on_terminal=self._ctx.stdout_tty))
        else:
            self._ctx.print("\t".join(format_cell(value) for value in values))


def _is_spread(value: Any, key: str, keys: Sequence[str]) -> bool:
    """Return whether the object under ``key`` is already printed, value by value, under dotted ``keys``."""
    return isinstance(value, Mapping) and bool(value) and all(f"{key}.{below}" in keys for below in value)


def normalize_rows(data: Any) -> list[Any]:
    """Return any data as a list of mappings: a bare value becomes ``{"value": it}``, a list ``{"0": .., "1": ..}``."""
    if data is None:
        return []
    return [_normalize_row(row) for row in (data if isinstance(data, list) else [data])]


def _normalize_row(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if isinstance(row, list):
        return {str(index): value for index, value in enumerate(row)}
    return {"value": row}


def format_json(data: Any, *, ascii_only: bool, pretty: bool = False) -> str:
    """Return ``data`` as JSON; on a terminal ASCII only, so that it cannot contain control sequences."""
    import json

    shape: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    if not ascii_only:
        text = json.dumps(data, ensure_ascii=False, **shape)
        if _is_encodable(text):
            return text
    return json.dumps(data, ensure_ascii=True, **shape)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate from "\ud800" in the server's JSON
        return False
    return True


def is_json_requested(context: "Context") -> bool:
    """Return whether the command line itself asks for JSON.

    Commands that print text ignore the environment and the profile, whose JSON would break scripts and man pages.
    """
    return context.options.format in JSON_FORMATS


def resolve_format(context: "Context") -> str:
    """Return the format in effect: from option, environment, profile, else the default of the stream."""
    options = context.options
    if options.template is not None and options.format is not None:
        raise Stop(ExitCode.USAGE, "--template and --format (or --json) cannot be used together")
    if options.format is not None:
        return options.format
    setting = resolve_setting(context, "format")
    if setting.value is not None and options.query is None:
        if setting.value not in FORMATS:
            raise Stop(
                ExitCode.USAGE,
                f"unknown format {setting.value!r} from {setting.origin}",
                hint=f"Use one of {', '.join(FORMATS)}.",
            )
        return str(setting.value)
    if options.query is not None:
        return "json"
    return "table" if context.stdout_tty else "plain"


def resolve_fields(context: "Context", spec: Spec) -> tuple[str, ...]:
    """Return the keys of ``--fields``; raise Stop (2) for a key that the command does not have."""
    if not context.options.fields:
        return ()
    if context.options.fields.strip() == "?":
        raise FieldNamesRequest(spec.known_fields())
    keys = tuple(key.strip() for key in context.options.fields.split(",") if key.strip())
    known = spec.known_fields()
    unknown = [key for key in keys if known and key.split(".")[0] not in known]
    if unknown and context.options.query is None:
        raise Stop(ExitCode.USAGE, f"unknown field: {', '.join(unknown)}", hint=f"Fields: {', '.join(known)}.")
    return keys


def compile_query(text: str | None, flag: str = "--query") -> Any:
    """Return the compiled JMESPath of ``flag``, or None; raise Stop (2) if it is invalid or calls an unknown
    function."""
    if text is None:
        return None
    import jmespath
    from jmespath.functions import Functions

    try:
        query = jmespath.compile(text)
        unknown = sorted(_find_functions(query.parsed) - Functions.FUNCTION_TABLE.keys())
    except _QUERY_ERRORS as error:
        raise Stop(
            ExitCode.USAGE, f"invalid {flag}: {_extract_reason(error)}", hint="See: docshare help query"
        ) from None
    if unknown:
        raise Stop(ExitCode.USAGE, f"invalid {flag}: unknown function: {unknown[0]}", hint="See: docshare help query")
    return query


def _find_functions(node: Mapping[str, Any]) -> set[str]:
    """Return the names of the functions in a parsed expression."""
    own = {str(node["value"])} if node["type"] == "function_expression" else set[str]()
    return own.union(*(_find_functions(child) for child in node["children"] if isinstance(child, Mapping)))


def run_query(query: Any, data: Any, flag: str = "--query") -> Any:
    """Return the result of the expression on ``data``. Raise Stop (2) if the expression does not fit it."""
    try:
        return query.search(data)
    except _QUERY_ERRORS as error:
        detail = f"{flag} failed: {_extract_reason(error)}"
        raise Stop(ExitCode.USAGE, detail, hint="See: docshare help query", code=UNRENDERED) from None


def _extract_reason(error: Exception) -> str:
    """Return the first line of a jmespath error, shortened: the others draw the expression with an arrow, and it may
    quote all data."""
    if isinstance(error, RecursionError):
        return "the expression is nested too deeply"
    message = (
        str(error).partition("\n")[0].removeprefix("Invalid jmespath expression: ").removesuffix(", for expression:")
    )
    message = message.removesuffix(":").strip()
    return message if len(message) <= _MAX_REASON_CHARS else f"{message[:_MAX_REASON_CHARS]}..."


def compile_template(text: str | None, known: Sequence[str] = ()) -> Callable[[Any], str] | None:
    """Return a function that renders a row by ``--template``, or None; raise Stop (2) for an unknown key."""
    if text is None:
        return None
    from docshare.cli.terminal.template import parse_template

    pieces = parse_template(text)
    heads = {key.partition(".")[0] for key in known}
    unknown = next((key for literal, key in pieces if not literal and heads and key.split(".")[0] not in heads), None)
    if unknown is not None:
        near = get_close_matches(unknown, known)
        hint = f"Did you mean {{{near[0]}}}?" if near else f"Fields: {', '.join(known)}."
        raise Stop(ExitCode.USAGE, f"--template: unknown field: {unknown}", hint=hint)
    return lambda row: "".join(piece if literal else format_cell(_get_key(row, piece)) for literal, piece in pieces)


def _check_template(text: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise Stop (2) if ``--template`` has a key that none of the ``rows`` has."""
    from docshare.cli.terminal.template import parse_template

    heads = [key.partition(".")[0] for literal, key in parse_template(text) if not literal]
    known = list(dict.fromkeys(key for row in rows for key in row))
    unknown = next((head for head in heads if rows and head not in known), None)
    if unknown is not None:
        detail, hint = f"--template: no row has the field {unknown}", f"Fields: {', '.join(known)}."
        raise Stop(ExitCode.USAGE, detail, hint=hint, code=UNRENDERED)


def _get_key(row: Any, key: str) -> Any:
    """Return the value of a dotted key, or None. Raise Stop (2) if the key goes into a value that is not an object."""
    value = get_nested(row, key)
    head, _, rest = key.rpartition(".")
    if value is None and head and isinstance(_get_key(row, head), str | int | float):
        detail = f"--template: {head} has no field {rest}, because it is not an object"
        raise Stop(ExitCode.USAGE, detail, hint=f"Use {{{head}}}.", code=UNRENDERED)
    return value
