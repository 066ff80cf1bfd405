"""``docshare doctor``, groups "instance" and "public": a server of this machine, asked over its admin channel or, where
it does not run, looked at in this process.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docshare.cli.commands.doctor import public as doctor_public
from docshare.cli.commands.doctor.checks import TIMEOUT_S, CheckContext, NamedFindings
from docshare.cli.commands.doctor.server import hide_host, parse_endpoint
from docshare.cli.framework.admin_channel import RunningServer, find_local_data_dir, has_data, run_on_directory
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.findings import Finding, absent, broken, fine, found_within

_REPORT_SECONDS = 30.0
_LOG_HINT = "Look into the log of the server."


def check_instance(scene: CheckContext) -> NamedFindings:
    """The data directory and the server that owns it."""
    directory, trouble = _get_within_deadline(TIMEOUT_S, lambda: _find_directory(scene))
    if trouble is not None or directory is None:
        yield "directory", trouble or absent("the server in effect is not of this machine; --data DIR names one")
        return
    server, trouble = _get_within_deadline(TIMEOUT_S, lambda: _find_server(directory))
    if trouble is not None:
        yield "process", trouble
        return
    if server is None:
        yield "process", absent(f"no server runs on {directory}")
    else:
        answers = _check_process(scene, server)
        yield "process", answers
        if not answers.ok:
            return
    rows, trouble = _get_within_deadline(
        _REPORT_SECONDS, lambda: _fetch_report(directory, server, scene.wish), _LOG_HINT
    )
    if trouble is not None:
        yield "report", trouble
    for row in rows or []:
        yield row["check"], Finding(row["ok"], row["detail"], row["fix"], row["level"])


def check_public(scene: CheckContext) -> NamedFindings:
    """The server as its readers reach it."""
    server, trouble = _get_within_deadline(TIMEOUT_S, lambda: _find_server(_find_directory(scene)))
    if server is None:
        yield from doctor_public.report_no_server() if trouble is None else iter([("address", trouble)])
        return
    hide_host(scene, parse_endpoint(server.owner.base_url))
    yield "address", doctor_public.check_address(server.owner)
    if not _check_process(scene, server).ok:
        yield "reach", absent("the server itself does not answer")
        return
    yield (
        "certificate",
        found_within(2 * TIMEOUT_S, lambda: doctor_public.check_public_certificate(scene, server.owner)),
    )
    seen, trouble = _get_within_deadline(
        doctor_public.estimate_probe_seconds(scene.body), lambda: doctor_public.send_probe(scene, server)
    )
    if trouble is not None:
        fix = f"Does the name lead here, and what stands there to {server.owner.url}?"
        yield "reach", trouble._replace(fix=fix)
    else:
        yield from doctor_public.evaluate_probe(seen)


def _find_directory(scene: CheckContext) -> Path | None:
    """The data directory that is meant, None for a server elsewhere and where no server ever was."""
    directory = find_local_data_dir(scene.ctx, scene.data)
    scene.hide(directory, "<path>")
    return directory if scene.data is not None or (directory and has_data(directory)) else None


def _find_server(directory: Path | None) -> RunningServer | None:
    try:
        return RunningServer(directory) if directory else None
    except Stop as stop:
        if stop.exit == ExitCode.UNREACHABLE:
            return None
        raise


def _check_process(scene: CheckContext, server: RunningServer) -> Finding:
    """Whether the server that holds the data directory answers anything at all."""
    owner = server.owner

    def ask_health() -> Finding:
        with scene.session() as http:
            http.trust_env = False
            http.get(f"{owner.url}/healthz", timeout=TIMEOUT_S, stream=True).close()
        return fine(f"process {owner.pid} answers at {owner.url}")

    found = found_within(TIMEOUT_S, ask_health)
    if found.ok:
        return found
    detail = f"process {owner.pid} holds the data directory and does not answer at {owner.url}"
    return broken(detail, "Look into its log, then end it and start it again.")


def _fetch_report(directory: Path, server: RunningServer | None, wish: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.tell("doctor", wish) if server else run_on_directory(directory, "doctor", wish)
    return found


def _get_within_deadline(seconds: float, get: Callable[[], Any], fix: str = "") -> tuple[Any, Finding | None]:
    """What ``get`` gives, or the finding that it could not."""
    values: list[Any] = []

    def check() -> Finding:
        values.append(get())
        return fine("")

    finding = found_within(seconds, check, fix)
    return (values[0], None) if finding.ok else (None, finding)
