"""``docshare doctor``, groups "instance" and "public": check a server on this machine over its admin channel or, if it
is not running, in this process.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from docshare.cli.commands.doctor import public as doctor_public
from docshare.cli.commands.doctor.checks import TIMEOUT_S, CheckContext, NamedFindings
from docshare.cli.commands.doctor.server import hide_host, parse_endpoint
from docshare.cli.framework.admin_channel import RunningServer, find_local_data_dir, has_data, run_on_directory
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.findings import DiagnosticFinding, error_finding, passed_finding, run_check, skipped_finding

_REPORT_SECONDS = 30.0
_LOG_HINT = "See the log of the server."


def check_instance(check_context: CheckContext) -> NamedFindings:
    """Check the data directory and the server that owns it."""
    directory, trouble = _get_within_deadline(TIMEOUT_S, lambda: _find_directory(check_context))
    if trouble is not None or directory is None:
        yield (
            "directory",
            trouble or skipped_finding("no data directory of this server was found; --data DIR names it"),
        )
        return
    server, trouble = _get_within_deadline(TIMEOUT_S, lambda: _find_server(directory))
    if trouble is not None:
        yield "process", trouble
        return
    if server is None:
        yield "process", skipped_finding(f"no server is running on {directory}")
    else:
        finding = _check_process(check_context, server)
        yield "process", finding
        if not finding.ok:
            return
    rows, trouble = _get_within_deadline(
        _REPORT_SECONDS, lambda: _fetch_report(directory, server, check_context.requested_tests), _LOG_HINT
    )
    if trouble is not None:
        yield "report", trouble
    for row in rows or []:
        yield row["check"], DiagnosticFinding(row["ok"], row["detail"], row["fix"], row["level"])


def check_public(check_context: CheckContext) -> NamedFindings:
    """Check the server through its public address."""
    server, trouble = _get_within_deadline(TIMEOUT_S, lambda: _find_server(_find_directory(check_context)))
    if server is None:
        yield from doctor_public.report_no_server() if trouble is None else iter([("address", trouble)])
        return
    hide_host(check_context, parse_endpoint(server.owner.base_url))
    yield "address", doctor_public.check_address(server.owner)
    if not _check_process(check_context, server).ok:
        yield "reach", skipped_finding("the server does not respond")
        return
    yield (
        "certificate",
        run_check(2 * TIMEOUT_S, lambda: doctor_public.check_public_certificate(check_context, server.owner)),
    )
    seen, trouble = _get_within_deadline(
        doctor_public.estimate_probe_seconds(check_context.body),
        lambda: doctor_public.send_probe(check_context, server),
    )
    if trouble is not None:
        fix = f"Check that the host name points to this machine and that the proxy forwards to {server.owner.url}."
        yield "reach", replace(trouble, fix=fix)
    else:
        yield from doctor_public.evaluate_probe(seen)


def _find_directory(check_context: CheckContext) -> Path | None:
    """Return the data directory to check: that of --data, or the default one if it has an instance; else None."""
    directory = find_local_data_dir(check_context.ctx, check_context.data)
    check_context.mask(directory, "<path>")
    return directory if check_context.data is not None or (directory and has_data(directory)) else None


def _find_server(directory: Path | None) -> RunningServer | None:
    try:
        return RunningServer(directory) if directory else None
    except Stop as stop:
        if stop.exit == ExitCode.UNREACHABLE:
            return None
        raise


def _check_process(check_context: CheckContext, server: RunningServer) -> DiagnosticFinding:
    """Check that the server that owns the data directory responds."""
    owner = server.owner

    def ask_health() -> DiagnosticFinding:
        with check_context.session() as http:
            http.trust_env = False
            http.get(f"{owner.url}/healthz", timeout=TIMEOUT_S, stream=True).close()
        return passed_finding(f"process {owner.pid} responds at {owner.url}")

    found = run_check(TIMEOUT_S, ask_health)
    if found.ok:
        return found
    detail = f"process {owner.pid} owns the data directory but does not respond at {owner.url}"
    return error_finding(detail, "See its log, then restart it.")


def _fetch_report(
    directory: Path, server: RunningServer | None, requested_tests: dict[str, str]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        server.run_command("doctor", requested_tests)
        if server
        else run_on_directory(directory, "doctor", requested_tests)
    )
    return found


def _get_within_deadline(seconds: float, get: Callable[[], Any], fix: str = "") -> tuple[Any, DiagnosticFinding | None]:
    """Return the result of ``get``, or the finding that it failed."""
    values: list[Any] = []

    def check() -> DiagnosticFinding:
        values.append(get())
        return passed_finding("")

    finding = run_check(seconds, check, fix)
    return (values[0], None) if finding.ok else (None, finding)
