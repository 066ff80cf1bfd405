"""Decide about a request when its headers are complete, for the listener: before any byte of its body is stored.

Uploads are checked completely here (path, credential, scope, slots, size, disk); all other bodies get a small limit.
"""

from dataclasses import dataclass, field

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from docshare.contract.amounts import format_size
from docshare.contract.problems import Problem
from docshare.server.api.auth import NO_ROUTE, Admission, CountMode, admit
from docshare.server.api.problems import build_refusal, convert_http_error, find_wrong_method, is_api_path
from docshare.server.api.routes import ROUTES, Route
from docshare.server.http import health
from docshare.server.http.uploads import FORM_OVERHEAD
from docshare.server.http.verdicts import Acceptance, Judge, RequestHead, Verdict
from docshare.server.http.views import resolve_client_address
from docshare.server.runtime import Runtime
from docshare.server.services.files import files

MAX_SMALL_BODY = 1 << 20  # bytes of any body that is not an upload
MAX_BEACON_BODY = 64 << 10
MAX_PROBE_BODY = 4 << 30  # more than any upload; the listener has its own limit

_ACCEPT_SMALL = Acceptance(MAX_SMALL_BODY)
_ACCEPT_BEACON = Acceptance(MAX_BEACON_BODY)
_ACCEPT_PROBE = Acceptance(MAX_PROBE_BODY, discards_body=True)
_ROUTES_BY_OPERATION = {route.operation: route for route in ROUTES}
_URL_MAP = Map(
    [Rule(route.rule, methods=[route.method], endpoint=route.operation) for route in ROUTES], merge_slashes=False
).bind("")


@dataclass(frozen=True)
class _RouteMatch:
    """The result of routing: a ``route`` and the ``names`` in its path, or the ``problem`` of an unknown path."""

    route: Route | None = None
    names: dict[str, str] = field(default_factory=dict)
    problem: Problem | None = None

    @property
    def accepts_uploads(self) -> bool:
        """Return whether the route itself checks large bodies."""
        return self.route is not None and self.route.admit_upload is not None


def make_judge(rt: Runtime) -> Judge:
    """Return the judge of one server.

    It runs in the listener's loop, so it does at most two short reads, and a few exchanges with Redis if limits are
    shared.
    """

    def judge(head: RequestHead) -> Verdict:
        if is_api_path(head.path) and (head.is_chunked or head.content_length):
            return _judge_body(rt, head)
        if head.path == health.PATH and rt.probes.is_active(health.parse_probe_token(head.query), rt.clock()):
            return _ACCEPT_PROBE
        return _ACCEPT_BEACON if head.path.endswith("/beacon") else _ACCEPT_SMALL

    return judge


def _judge_body(rt: Runtime, head: RequestHead) -> Verdict:
    """Check a request under /api that has a body. Rejected requests and all uploads are counted here."""
    target = _match_route(head)
    if target.route is not None and target.route.access.is_design_lane:
        return _ACCEPT_SMALL  # the caller is only known once keys were fetched, which must not block this loop
    if target.problem is None and not target.accepts_uploads and (head.content_length or 0) <= MAX_SMALL_BODY:
        return _judge_chunked_body(rt, head, target) if head.is_chunked else _ACCEPT_SMALL
    admission = _admit(rt, head, target, CountMode.NOW)
    try:
        return _accept_upload(rt, head, target, admission)
    except Problem as problem:
        return build_refusal(rt, problem, admission.allowance)


def _judge_chunked_body(rt: Runtime, head: RequestHead, target: _RouteMatch) -> Verdict:
    """Check a body of unknown size where only small ones are accepted: the application counts accepted requests."""
    refusal = _admit(rt, head, target, CountMode.LATER).refusal
    if refusal is None:
        return _ACCEPT_SMALL
    return build_refusal(rt, refusal, _admit(rt, head, target, CountMode.NOW).allowance)


def _admit(rt: Runtime, head: RequestHead, target: _RouteMatch, tally: CountMode) -> Admission:
    headers = head.headers
    return admit(
        rt,
        NO_ROUTE if target.route is None else target.route.access,
        headers.get,
        lambda: resolve_client_address(rt, head.peer, headers.get("x-forwarded-for")),
        tally,
    )


def _match_route(head: RequestHead) -> _RouteMatch:
    wrong = find_wrong_method(_URL_MAP.map, head.path, head.method)
    if wrong is not None:
        return _RouteMatch(problem=convert_http_error(wrong))
    try:
        operation, names = _URL_MAP.match(head.path, method=head.method)
    except HTTPException as error:
        return _RouteMatch(problem=convert_http_error(error))
    return _RouteMatch(_ROUTES_BY_OPERATION[operation], dict(names))


def _accept_upload(rt: Runtime, head: RequestHead, target: _RouteMatch, admission: Admission) -> Acceptance:
    """Return the terms on which the upload is accepted. Raises the Problem that rejects it."""
    problem = admission.refusal or target.problem
    if problem is not None:
        raise problem
    public = target.route is not None and target.route.access.is_public
    if target.route is None or target.route.admit_upload is None or (admission.caller is None and not public):
        raise Problem("payload_too_large", f"The body is larger than {format_size(MAX_SMALL_BODY)}.")
    if admission.caller is not None and target.route.is_about_a_file:
        files.require_reachable(rt, admission.caller, target.names["uuid"])
    least = None if head.content_length is None else max(head.content_length - FORM_OVERHEAD, 0)
    max_file = target.route.admit_upload(rt, admission.caller, target.names, least)
    too_large = Problem("payload_too_large", f"The file is larger than {format_size(max_file)}.")
    return Acceptance(
        max_body=max_file + FORM_OVERHEAD,
        stores_files=True,
        max_file=max_file,
        on_too_large=build_refusal(rt, too_large, admission.allowance),
    )
