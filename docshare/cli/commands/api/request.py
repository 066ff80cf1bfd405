"""Build the request of ``docshare api``: URL, query, headers and body, and its preview for ``-n``."""

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from docshare.cli.commands.settings.values import parse_json
from docshare.cli.framework.clients import is_secret_name
from docshare.cli.framework.connection import keep_secret
from docshare.cli.framework.context import Context
from docshare.cli.framework.dry_run import HIDDEN, format_body
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import BYTE_ORDER_MARK, STDIN, read_bytes
from docshare.client.address import parse_address, parse_origin
from docshare.client.http.body import MultipartFile
from docshare.client.http.whole_body import FormBody, JsonBody, WholeBody
from docshare.client.raw import RawBody

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
METHODS_WITHOUT_BODY = ("GET", "HEAD", "DELETE", "OPTIONS")
_API = "/api/v1"
_VERBATIM_PREFIXES = ("/api/", "/oauth/", "/.well-known/")
_VERBATIM_PATHS = ("/oembed", "/healthz")
_ASSIGNMENT = re.compile(r"([^=:@]+)(:?=)(.*)", re.DOTALL)
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_MAX_BODY_BYTES = 2 * 1024**3  # the largest document of any plan
_MSYS_PATH = re.compile(r"[A-Za-z]:[/\\]")  # Git Bash and MSYS rewrite a leading slash to this
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
_BODY_HEADERS = ("content-length", "transfer-encoding")  # with a wrong value, the server would wait for more data
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class RequestArguments:
    """The unparsed arguments: ``texts`` (-f), ``typed`` (-F), ``form``, ``headers``, and ``source``, the file of the
    body (``-``: stdin)."""

    method: str
    path: str
    texts: Sequence[str] = ()
    typed: Sequence[str] = ()
    form: Sequence[str] = ()
    headers: Sequence[str] = ()
    source: str | None = None


@dataclass
class ApiRequest:
    """One request. ``path`` is relative to ``base`` (None: the current server). There is at most one body: ``values``
    (JSON), ``raw`` bytes, or ``form`` with an optional ``file`` as ``(part, path)``."""

    method: str
    path: str
    base: str | None = None
    params: dict[str, str | int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] | None = None
    raw: bytes | None = None
    form: dict[str, str] | None = None
    file: tuple[str, str] | None = None

    def open_body(self, held: ExitStack) -> MultipartFile | WholeBody | None:
        """Return the body; ``held`` closes its file. Raise Stop (2) if the file cannot be read."""
        if self.values is not None:
            return JsonBody(self.values)
        if self.raw is not None:
            return RawBody(self.raw, "application/json")
        if self.form is None:
            return None
        if self.file is None:
            return FormBody(self.form)
        return self._open_multipart(held)

    def _open_multipart(self, held: ExitStack) -> MultipartFile:
        part, path = self.file or ("", "")
        try:
            source = held.enter_context(io.FileIO(path, "rb"))
        except OSError as error:
            why = f"--form {part}: cannot read {path}: {error.strerror or error}"
            raise Stop(ExitCode.USAGE, why, code="local_file") from error
        return MultipartFile(source, os.path.basename(path), fields=self.form, part=part)

    def preview(self) -> tuple[str, str, str]:
        """Return method, URL and body for ``-n``, without secrets."""
        query = urlencode({key: HIDDEN if is_secret_name(key) else value for key, value in self.params.items()})
        address = (self.base or "") + self.path
        return self.method, f"{address}?{query}" if query else address, self._preview_body()

    def _preview_body(self) -> str:
        if self.values is not None:
            return format_body(_mask_secrets(self.values))
        if self.raw is not None:
            try:
                return format_body(_mask_secrets(parse_json(self.raw.decode(), "--input")))
            except (Stop, UnicodeDecodeError):
                return f"({len(self.raw)} bytes)"
        fields = {key: HIDDEN if is_secret_name(key) else value for key, value in (self.form or {}).items()}
        if self.file is not None:
            fields[self.file[0]] = f"@{self.file[1]}"
        return "&".join(f"{key}={value}" for key, value in fields.items())


def parse_request(context: Context, given: RequestArguments, *, stranger: bool) -> ApiRequest:
    """Parse the arguments. ``stranger`` means that no credential is sent.

    Raise Stop (2) for invalid arguments, for secrets that other users of this machine could see, and for requests that
    would send the credential to another server.
    """
    method = given.method.upper()
    if method not in METHODS:
        hint = f"Example: docshare api GET {given.path or '/files'}"
        raise Stop(ExitCode.USAGE, f"{given.method!r} is not an HTTP method", hint=hint)
    _require_one_stdin(given)
    base, path = _resolve_address(context, given.path, stranger)
    path, _, query = path.partition("?")
    request = ApiRequest(method, path, base)
    for key, value in parse_qsl(query, keep_blank_values=True):
        if value and is_secret_name(key):
            raise _visible_secret_error(f"{key} in the address", f"-F {key}=@FILE")
        _put_param(request, key, value)
    request.headers = dict(_parse_headers(context, given.headers))
    if given.source is not None and given.form:
        raise Stop(ExitCode.USAGE, "--input and --form cannot be used together")
    if given.source is not None:
        request.raw = read_bytes(context, given.source, "--input", limit=_MAX_BODY_BYTES)
    for word in given.form:
        _put_part(context, request, word)
    _put_fields(context, request, given)
    if request.file and any(name.lower() == "content-type" for name in request.headers):
        raise Stop(ExitCode.USAGE, "--form sets the Content-Type automatically")
    return request


def _require_one_stdin(given: RequestArguments) -> None:
    words = [*given.typed, *given.headers, *(f"={word.partition('=<')[2]}" for word in given.form)]
    asking = sum(word.endswith((f"=@{STDIN}", f": @{STDIN}")) or word == f"={STDIN}" for word in words)
    if asking + (given.source == STDIN) > 1:
        raise Stop(ExitCode.USAGE, "only one value can come from stdin")


def _resolve_address(context: Context, path: str, stranger: bool) -> tuple[str | None, str]:
    """Return the base URL (None: the current server) and the path relative to it."""
    if _MSYS_PATH.match(path):
        hint = "This shell rewrites arguments with a leading slash; omit the slash, as in: files"
        raise Stop(ExitCode.USAGE, f"{path!r} is a local path", hint=hint)
    if "#" in path or not path.isprintable() or " " in path or not path:
        raise Stop(ExitCode.USAGE, f"{path!r} is not a valid path", hint="Example: /files?limit=3")
    if "://" not in path:
        return None, _add_api_prefix("/" + path.lstrip("/"))
    origin = parse_origin(path)
    if not origin or "@" in urlsplit(path).netloc:
        raise Stop(ExitCode.USAGE, f"{path!r} is not an http or https URL")
    base = parse_address(str(context.connection.url.value), with_token=False, allow_http=True).base
    parts = urlsplit(path)
    whole = origin + (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if whole.startswith(base + "/"):
        return None, whole[len(base) :]
    if stranger:
        return origin, whole[len(origin) :]
    raise Stop(
        ExitCode.USAGE,
        f"{origin} is not the current server, {base}; the credential is sent nowhere else",
        hint="Select the server with --profile or --url, or send no credential with --no-auth.",
    )


def _add_api_prefix(path: str) -> str:
    bare = path.partition("?")[0]
    return path if path.startswith(_VERBATIM_PREFIXES) or bare in _VERBATIM_PATHS else _API + path


def _parse_headers(context: Context, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        match = _HEADER.fullmatch(word)
        if match is None:
            raise Stop(ExitCode.USAGE, f"-H {word!r} is not a header", hint="Use -H 'Name: value'.")
        name, value = match[1], match[2].strip()
        if name.lower() == "authorization":
            hint = "Set DOCSHARE_TOKEN, or use a profile; --no-auth sends none."
            raise Stop(
                ExitCode.USAGE, "-H Authorization is not allowed: other users of this machine could see it", hint=hint
            )
        if name.lower() in _BODY_HEADERS:
            raise Stop(ExitCode.USAGE, f"-H {name} is not allowed: it is set automatically")
        if value.startswith("@"):
            value = _read_value(context, f"-H {name}", value[1:], secret=is_secret_name(name))
        elif is_secret_name(name):
            raise _visible_secret_error(f"-H {name}", f"-H '{name}: @FILE'")
        if not _HEADER_VALUE.fullmatch(value):
            raise Stop(ExitCode.USAGE, f"-H {name}: the value must be one line of Latin-1 characters")
        yield name, value


def _put_part(context: Context, request: ApiRequest, word: str) -> None:
    """Add one ``--form`` part: ``NAME=VALUE``, ``NAME=<FILE`` for its text, or ``NAME=@FILE`` for the file itself."""
    name, value = _split_pair(word, "--form")
    request.form = {} if request.form is None else request.form
    if name in request.form or (request.file and request.file[0] == name):
        raise _duplicate_key_error(name)
    if value.startswith("@"):
        if request.file is not None:
            raise Stop(ExitCode.USAGE, "--form accepts only one file")
        if value == f"@{STDIN}":
            raise Stop(
                ExitCode.USAGE,
                "--form cannot upload stdin",
                hint="Save it to a file first; the server needs a file name.",
            )
        request.file = name, value[1:]
    elif value.startswith("<"):
        request.form[name] = _read_value(context, f"--form {name}", value[1:], secret=is_secret_name(name))
    elif value and is_secret_name(name):
        raise _visible_secret_error(f"--form {name}", f"--form '{name}=<FILE'")
    else:
        request.form[name] = value


def _split_pair(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise Stop(ExitCode.USAGE, f"{option} {word!r} is not NAME=VALUE")
    return name, value


def _put_fields(context: Context, request: ApiRequest, given: RequestArguments) -> None:
    """Add ``-f`` and ``-F`` to the JSON body, or to the query if the method has no body or the body is given."""
    in_query = request.method in METHODS_WITHOUT_BODY or request.raw is not None or request.form is not None
    for option, words in (("-f", given.texts), ("-F", given.typed)):
        for word in words:
            key, value = _parse_field(context, option, word)
            if in_query:
                _put_param(request, key, value)
            else:
                request.values = {} if request.values is None else request.values
                _put_nested(request.values, key, value)


def _parse_field(context: Context, option: str, word: str) -> tuple[str, Any]:
    match = _ASSIGNMENT.fullmatch(word)
    if match is None:
        raise Stop(ExitCode.USAGE, f"{option} {word!r} is not a field", hint="Use KEY=VALUE, or -F KEY:=JSON.")
    key, is_json, text = match[1], match[2] == ":=", match[3]
    value: Any = text
    from_file = option == "-F" and text.startswith("@")
    if from_file:
        value = _read_value(context, f"{option} {key}", text[1:], secret=is_secret_name(key))
    if is_json:
        value = parse_json(value, f"{option} {key}")
    elif option == "-F" and not from_file:
        value = _parse_typed_value(text)
    if not from_file and _mask_secrets({key: value}) != {key: value}:
        raise _visible_secret_error(f"{option} {key}", f"-F {key}{match[2]}@FILE")
    return key, value


def _parse_typed_value(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    return parse_json(text, "-F") if _NUMBER.fullmatch(text) else text


def _put_param(request: ApiRequest, key: str, value: Any) -> None:
    if value is None or isinstance(value, dict | list):
        raise Stop(ExitCode.USAGE, f"{key}: the query accepts only strings, numbers, and booleans")
    if key in request.params:
        raise _duplicate_key_error(key)
    request.params[key] = ("true" if value else "false") if isinstance(value, bool) else str(value)


def _put_nested(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a value under a dotted key: ``a.b=1`` becomes ``{"a": {"b": 1}}``."""
    *parents, last = key.split(".")
    for parent in parents:
        below = values.setdefault(parent, {})
        if not isinstance(below, dict):
            raise _duplicate_key_error(parent)
        values = below
    if last in values:
        raise _duplicate_key_error(key)
    values[last] = value


def _read_value(context: Context, what: str, source: str, *, secret: bool) -> str:
    """Return the text of a file (``-``: stdin) without the byte order mark and the line end that editors add."""
    try:
        text = read_bytes(context, source, what).decode()
    except UnicodeDecodeError as error:
        raise Stop(ExitCode.USAGE, f"{what}: {source} is not UTF-8 text", code="local_file") from error
    text = text.removeprefix(BYTE_ORDER_MARK).removesuffix("\n").removesuffix("\r")
    return keep_secret(context, text) if secret and text else text


def _mask_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if inner and inner is not True and is_secret_name(str(key)) else _mask_secrets(inner)
            for key, inner in value.items()
        }
    return [_mask_secrets(inner) for inner in value] if isinstance(value, list) else value


def _visible_secret_error(what: str, instead: str) -> Stop:
    hint = f"Put it in a file that only you can read: {instead}  (@- is stdin)"
    return Stop(ExitCode.USAGE, f"{what} would be visible in the process list", hint=hint)


def _duplicate_key_error(key: str) -> Stop:
    return Stop(ExitCode.USAGE, f"{key} is given twice")
