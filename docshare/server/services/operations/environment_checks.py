"""Check the environment of an instance for ``docshare doctor``: mail server, converter, keys of the design tool,
country database, proxies. The checks connect only to hosts that the operator configured or named.
"""

from collections.abc import Mapping

from docshare.contract.findings import (
    DiagnosticFinding,
    error_finding,
    passed_finding,
    skipped_finding,
    warning_finding,
)
from docshare.contract.problems import Problem
from docshare.server.office.convert import MISSING_HINT
from docshare.server.outbound.exchange import OutboundRequest
from docshare.server.outbound.failures import OutboundError, OutboundRedirect
from docshare.server.outbound.jwts import KeysUnreachable
from docshare.server.outbound.mail import MailNotDelivered
from docshare.server.pdf.child import BrokenWorkerError, WorkerTimeoutError
from docshare.server.pdf.probe import UnconfinedError
from docshare.server.pdf.worker.confine import LAYERS
from docshare.server.runtime import Runtime
from docshare.server.services.operations import mail
from docshare.server.services.webhooks import destination as webhook_egress

_TIMEOUT_S = 6.0
_KNOWN_ADDRESS = "8.8.8.8"  # every country database contains it; the check never connects to it


def check_mail_server(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:
    """Log in to the mail server; with ``mail`` in ``arguments`` send a test mail."""
    recipient = arguments.get("mail")
    if not rt.mailer.is_configured:
        reason = "a mail server is not configured; emails stay in the outbox"
        return error_finding(reason, "Set DOCSHARE_SMTP_URL.") if recipient else skipped_finding(reason)
    try:
        if recipient:
            mail.send_test(rt, recipient)
        else:
            rt.mailer.test_login(_TIMEOUT_S)
    except MailNotDelivered as error:
        return error_finding(str(error), "Correct DOCSHARE_SMTP_URL (host, port, user, password, smtp, or smtps).")
    if recipient:
        return passed_finding(f"the mail server accepted an email to {recipient}")
    return passed_finding("the mail server accepts connections from this server")


def check_converter(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Start LibreOffice as a conversion would."""
    if not rt.converter.is_available:
        return warning_finding("LibreOffice is not installed: Word and PowerPoint files are rejected", MISSING_HINT)
    rt.converter.isolation_level  # noqa: B018 - reading it starts LibreOffice
    missing = rt.converter.missing
    if missing:
        return warning_finding(f"LibreOffice starts; its confinement lacks {', '.join(missing)}", LAYERS[missing[0]])
    return passed_finding("LibreOffice starts; it cannot reach the network or files of this machine")


def check_confinement(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Measure which layers confine the processes that open documents of strangers."""
    try:
        layers = rt.confinement.measure()
    except (BrokenWorkerError, WorkerTimeoutError) as error:
        return error_finding(f"PDFs cannot be opened: {error}", "Reinstall docshare into a separate environment.")
    reasons = layers.list_missing()
    if reasons:
        words = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
        return warning_finding(f"the confinement of PDF workers lacks {words}", LAYERS[next(iter(reasons))])
    return passed_finding(
        f"PDF workers are confined by {', '.join(layers.missing)} (Landlock version {layers.landlock})"
    )


def require_confinement(rt: Runtime) -> None:
    """Measure how processes that open documents are confined. Raises UnconfinedError if a required layer is missing."""
    rt.confinement.require_layers()
    if not (rt.confinement.required and rt.converter.is_available):
        return
    try:
        rt.converter.isolation_level  # noqa: B018 - reading it starts LibreOffice
    except Problem as problem:
        words = ", ".join(rt.converter.missing) or problem.detail
        detail = f"DOCSHARE_CONFINEMENT is required, and LibreOffice runs without: {words}"
        raise UnconfinedError(detail, "Uninstall LibreOffice, or see: docshare help documents") from problem


def check_egress(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:
    """Send a request to the address ``egress`` in ``arguments``, under the rules of webhooks."""
    url = arguments.get("egress")
    if not url:
        return skipped_finding("not tested; --egress URL sends a request as a webhook would")
    try:
        target, permit = webhook_egress.vet_target(rt, url)
        with rt.outbound.exchange(OutboundRequest(target), permit, deadline_s=_TIMEOUT_S) as answer:
            return passed_finding(f"{target.bare_host} answered with status {answer.status}")
    except Problem as problem:
        return error_finding(problem.detail, problem.hint)
    except OutboundRedirect as error:
        return warning_finding(
            f"{target.bare_host} {error}", "Register webhooks with the address that it redirects to."
        )
    except OutboundError as error:
        fix = "Check DNS and firewall; for private addresses set DOCSHARE_WEBHOOK_ALLOW, for a private CA "
        return error_finding(f"{target.bare_host} {error}", f"{fix}DOCSHARE_CA_BUNDLE.")


def check_design_keys(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Fetch the keys that verify the tokens of the design tool."""
    urls = dict.fromkeys(filter(None, (rt.config.design_user_jwks_url, rt.config.design_token_jwks_url)))
    if not urls:
        return skipped_finding("a design tool is not configured")
    try:
        counts = [rt.jwts.count_published_keys(url) for url in urls]
    except KeysUnreachable as error:
        return error_finding(f"the keys of the design tool: {error}", "Correct DOCSHARE_DESIGN_USER_JWKS_URL.")
    return passed_finding(f"the design tool publishes {sum(counts)} usable keys")


def check_countries(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Look up an address in the country database."""
    if rt.config.geoip is None:
        return skipped_finding("a country database is not configured")
    country = rt.locate(_KNOWN_ADDRESS)
    if country is None:
        return warning_finding(
            f"{rt.config.geoip} does not contain {_KNOWN_ADDRESS}", "Use a country or city database."
        )
    return passed_finding(f"{rt.config.geoip} contains countries")


def check_proxies(rt: Runtime, arguments: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Check the list of trusted proxies, as far as that is possible without a request."""
    trusted = rt.config.trusted_proxies
    words = ", ".join(map(str, trusted))
    if any(network.prefixlen == 0 for network in trusted):
        return error_finding(
            f"DOCSHARE_TRUSTED_PROXIES trusts every host ({words}): readers can forge their address",
            "List only your proxy: DOCSHARE_TRUSTED_PROXIES=127.0.0.1/32 if it is on this machine.",
        )
    if forwarders := rt.untrusted_proxies.list_recent(rt.clock()):
        return error_finding(
            f"a proxy at {', '.join(forwarders)} is not trusted: all readers behind it appear under one address",
            f"If this is your reverse proxy: DOCSHARE_TRUSTED_PROXIES={','.join(map(str, (*trusted, *forwarders)))}",
        )
    if rt.config.country_header and not trusted:
        return warning_finding(
            f"{rt.config.country_header} is ignored, because no proxy is trusted",
            "Set DOCSHARE_TRUSTED_PROXIES to the address of the proxy that sends it.",
        )
    return passed_finding(f"trusted proxies: {words}") if trusted else skipped_finding("no proxy is trusted")
