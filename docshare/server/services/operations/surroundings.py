"""What an instance depends on outside of itself, looked at for ``docshare doctor``: mail server, converter, keys of the
design tool, databases of the operator. Nobody is called that the operator did not name.
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
_KNOWN_ADDRESS = "8.8.8.8"  # every country database knows it; it is looked up in a file, never called


def check_mail_server(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:
    """Sign in to the mail server and leave; with ``mail`` in ``wish`` hand it a test mail."""
    recipient = wish.get("mail")
    if not rt.mailer.configured:
        reason = "no mail server is configured, mails stay in the outbox"
        return error_finding(reason, "Set DOCSHARE_SMTP_URL.") if recipient else skipped_finding(reason)
    try:
        if recipient:
            mail.send_test(rt, recipient)
        else:
            rt.mailer.try_out(_TIMEOUT_S)
    except MailNotDelivered as error:
        return error_finding(str(error), "Correct DOCSHARE_SMTP_URL (host, port, user, password, smtp or smtps).")
    return passed_finding(
        f"the mail server took a mail to {recipient}" if recipient else "the mail server lets this server in"
    )


def check_converter(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Start LibreOffice as a conversion would."""
    if not rt.converter.available:
        return warning_finding("LibreOffice is not installed: Word and PowerPoint files are refused", MISSING_HINT)
    rt.converter.level  # noqa: B018 - found out here
    missing = rt.converter.missing
    if missing:
        return warning_finding(f"LibreOffice starts; it is confined without {', '.join(missing)}", LAYERS[missing[0]])
    return passed_finding("LibreOffice starts; it sees neither network nor files of this machine")


def check_confinement(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Find out which layers hold for the processes that open documents of strangers."""
    try:
        layers = rt.confinement.measure()
    except (BrokenWorkerError, WorkerTimeoutError) as error:
        return error_finding(
            f"PDFs cannot be opened: {error}", "Install docshare again into an environment of its own."
        )
    reasons = layers.reasons()
    if reasons:
        words = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
        return warning_finding(f"PDF workers are confined without {words}", LAYERS[next(iter(reasons))])
    return passed_finding(
        f"PDF workers are confined by {', '.join(layers.missing)}; version {layers.landlock} of Landlock"
    )


def require_confinement(rt: Runtime) -> None:
    """Measure how processes that open documents are confined. Raises Unconfined where less holds than is required."""
    rt.confinement.check()
    if not (rt.confinement.required and rt.converter.available):
        return
    try:
        rt.converter.level  # noqa: B018 - found out here
    except Problem as problem:
        words = ", ".join(rt.converter.missing) or problem.detail
        detail = f"DOCSHARE_CONFINEMENT is required, and LibreOffice runs without: {words}"
        raise UnconfinedError(detail, "Leave LibreOffice out, or see: docshare help documents") from problem


def check_egress(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:
    """Fetch the address ``egress`` in ``wish`` under the rules of webhooks."""
    url = wish.get("egress")
    if not url:
        return skipped_finding("not tried; --egress URL calls one address as a webhook would")
    try:
        target, permit = webhook_egress.vet_target(rt, url)
        with rt.outbound.exchange(OutboundRequest(target), permit, deadline_s=_TIMEOUT_S) as answer:
            return passed_finding(f"{target.bare_host} answered with status {answer.status}")
    except Problem as problem:
        return error_finding(problem.detail, problem.hint)
    except OutboundRedirect as error:
        return warning_finding(f"{target.bare_host} {error}", "Register webhooks with the address that it leads to.")
    except OutboundError as error:
        fix = "Check name service and firewall; private addresses: DOCSHARE_WEBHOOK_ALLOW; own authorities: "
        return error_finding(f"{target.bare_host} {error}", f"{fix}DOCSHARE_CA_BUNDLE.")


def check_design_keys(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Fetch the keys that tokens of the design tool are checked with."""
    urls = dict.fromkeys(filter(None, (rt.config.design_user_jwks_url, rt.config.design_token_jwks_url)))
    if not urls:
        return skipped_finding("no design tool is configured")
    try:
        counts = [rt.jwts.published(url) for url in urls]
    except KeysUnreachable as error:
        return error_finding(f"the keys of the design tool: {error}", "Correct DOCSHARE_DESIGN_USER_JWKS_URL.")
    return passed_finding(f"the design tool publishes {sum(counts)} usable keys")


def check_countries(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Look an address up in the operator's database."""
    if rt.config.geoip is None:
        return skipped_finding("no country database is configured")
    country = rt.locate(_KNOWN_ADDRESS)
    if country is None:
        return warning_finding(
            f"{rt.config.geoip} knows no country of {_KNOWN_ADDRESS}", "Use a country or city database."
        )
    return passed_finding(f"{rt.config.geoip} knows countries")


def check_proxies(rt: Runtime, wish: Mapping[str, str]) -> DiagnosticFinding:  # noqa: ARG001 - as every check
    """Judge what is trusted, as far as that can be seen without a request."""
    trusted = rt.config.trusted_proxies
    words = ", ".join(map(str, trusted))
    if any(network.prefixlen == 0 for network in trusted):
        return error_finding(
            f"DOCSHARE_TRUSTED_PROXIES trusts everybody ({words}): readers can claim any address",
            "Name only your proxy: DOCSHARE_TRUSTED_PROXIES=127.0.0.1/32 if it is on this machine.",
        )
    if forwarders := rt.forwarders.known(rt.clock()):
        return error_finding(
            f"a proxy at {', '.join(forwarders)} is not trusted: all readers behind it seem to have one address",
            f"If that is your reverse proxy: DOCSHARE_TRUSTED_PROXIES={','.join(map(str, (*trusted, *forwarders)))}",
        )
    if rt.config.country_header and not trusted:
        return warning_finding(
            f"{rt.config.country_header} is never believed, since no proxy is trusted",
            "Set DOCSHARE_TRUSTED_PROXIES to the address of the proxy that sends it.",
        )
    return passed_finding(f"trusted proxies: {words}") if trusted else skipped_finding("no proxy is trusted")
