"""``docshare doctor``, groups "instance" and "public": a server of this machine, asked over its admin channel or, where
it does not run, looked at in this process.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docshare.cli.commands.doctor import public as doctor_public
from docshare.cli.commands.doctor.checks import SECONDS, Found, Scene
from docshare.cli.commands.doctor.server import hide_host, place_of
from docshare.cli.framework.admin_channel import RunningServer, ask, directory_here, holds_data
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.contract.findings import Finding, absent, broken, fine, found_within

_REPORT_SECONDS = 30.0
_LOOK = "Look into the log of the server."


def instance(scene: Scene) -> Found:
    """The data directory and the server that owns it."""
    directory, trouble = _obtained(SECONDS, lambda: _directory(scene))
    if trouble is not None or directory is None:
        yield "directory", trouble or absent("the server in effect is not of this machine; --data DIR names one")
        return
    server, trouble = _obtained(SECONDS, lambda: _running(directory))
    if trouble is not None:
        yield "process", trouble
        return
    if server is None:
        yield "process", absent(f"no server runs on {directory}")
    else:
        answers = _answers(scene, server)
        yield "process", answers
        if not answers.ok:
            return
    rows, trouble = _obtained(_REPORT_SECONDS, lambda: _report(directory, server, scene.wish), _LOOK)
    if trouble is not None:
        yield "report", trouble
    for row in rows or []:
        yield row["check"], Finding(row["ok"], row["detail"], row["fix"], row["level"])


def public(scene: Scene) -> Found:
    """The server as its readers reach it."""
    server, trouble = _obtained(SECONDS, lambda: _running(_directory(scene)))
    if server is None:
        yield from doctor_public.nothing() if trouble is None else iter([("address", trouble)])
        return
    hide_host(scene, place_of(server.owner.base_url))
    yield "address", doctor_public.address(server.owner)
    if not _answers(scene, server).ok:
        yield "reach", absent("the server itself does not answer")
        return
    yield "certificate", found_within(2 * SECONDS, lambda: doctor_public.public_certificate(scene, server.owner))
    seen, trouble = _obtained(doctor_public.seconds_for(scene.body), lambda: doctor_public.seen(scene, server))
    if trouble is not None:
        fix = f"Does the name lead here, and what stands there to {server.owner.url}?"
        yield "reach", trouble._replace(fix=fix)
    else:
        yield from doctor_public.judged(seen)


def _directory(scene: Scene) -> Path | None:
    """The data directory that is meant, None for a server elsewhere and where no server ever was."""
    directory = directory_here(scene.ctx, scene.data)
    scene.hide(directory, "<path>")
    return directory if scene.data is not None or (directory and holds_data(directory)) else None


def _running(directory: Path | None) -> RunningServer | None:
    try:
        return RunningServer(directory) if directory else None
    except Stop as stop:
        if stop.exit == ExitCode.UNREACHABLE:
            return None
        raise


def _answers(scene: Scene, server: RunningServer) -> Finding:
    """Whether the server that holds the data directory answers anything at all."""
    owner = server.owner

    def ask_health() -> Finding:
        with scene.session() as http:
            http.trust_env = False
            http.get(f"{owner.url}/healthz", timeout=SECONDS, stream=True).close()
        return fine(f"process {owner.pid} answers at {owner.url}")

    found = found_within(SECONDS, ask_health)
    if found.ok:
        return found
    detail = f"process {owner.pid} holds the data directory and does not answer at {owner.url}"
    return broken(detail, "Look into its log, then end it and start it again.")


def _report(directory: Path, server: RunningServer | None, wish: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.tell("doctor", wish) if server else ask(directory, "doctor", wish)
    return found


def _obtained(seconds: float, get: Callable[[], Any], fix: str = "") -> tuple[Any, Finding | None]:
    """What ``get`` gives, or the finding that it could not."""
    values: list[Any] = []

    def check() -> Finding:
        values.append(get())
        return fine("")

    finding = found_within(seconds, check, fix)
    return (values[0], None) if finding.ok else (None, finding)
