"""Send mails through the operator's mail server (settings DOCSHARE_SMTP_URL and DOCSHARE_CA_BUNDLE).

The operator sets the address of the mail server, so it may be private. One deadline covers the whole exchange, because
the timeout of a socket starts again with every byte.
"""

import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote, urlsplit

from docshare.server.outbound.watchdog import DeadlineWatchdog

DEADLINE_S = 30.0
_CONNECT_SHARE = 3  # of the deadline
_LOGIN_REQUIRED = 530  # or TLS
_DEFAULT_PORTS = {"smtp": 25, "smtps": 465}
_LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}


class MailNotDelivered(Exception):
    """The mail server did not accept the mail. ``is_permanent``: it rejected the mail permanently."""

    def __init__(self, message: str, *, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


@dataclass(frozen=True)
class MailServer:
    """A mail server. ``tls``: the connection begins with TLS (``smtps``); ``user`` and ``password`` are None if the
    server needs no login."""

    host: str
    port: int
    tls: bool
    user: str | None
    password: str | None

    @property
    def requires_tls(self) -> bool:
        """Return whether the connection must be encrypted before the login, so that no password crosses a network in
        clear text."""
        return self.user is not None and self.host not in _LOCAL_HOSTS


def parse_mail_url(url: str) -> MailServer:
    """Parse ``smtp://user:password@host:587`` or ``smtps://...``. Raises ValueError naming the expected form."""
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise ValueError("expected an address like smtp://user:password@mail.example.com:587")
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password or "") if user else None
    return MailServer(
        parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme], parts.scheme == "smtps", user, password
    )


class Mailer:
    """Sends mails one at a time. Parameters: ``url`` of the mail server, None if there is none; ``ca_bundle`` contains
    certificates to trust in addition to those of the system."""

    def __init__(self, url: str | None, ca_bundle: Path | None = None, deadline_s: float = DEADLINE_S) -> None:
        self._server = parse_mail_url(url) if url else None
        self._ca_bundle = ca_bundle
        self._deadline_s = deadline_s

    @property
    def is_configured(self) -> bool:
        """Return whether a mail server is configured."""
        return self._server is not None

    def send(self, message: EmailMessage) -> None:
        """Send ``message``. Raises ``MailNotDelivered``."""
        self._deliver(message, self._deadline_s)

    def test_login(self, deadline_s: float) -> None:
        """Connect and log in as for a mail, without sending one. Raises ``MailNotDelivered``."""
        self._deliver(None, deadline_s)

    def _deliver(self, message: EmailMessage | None, deadline_s: float) -> None:
        if self._server is None:
            raise MailNotDelivered("no mail server is configured")
        watchdog = DeadlineWatchdog(deadline_s)
        try:
            self._exchange(self._server, message, watchdog)
        except (OSError, smtplib.SMTPException, UnicodeError, ValueError) as error:
            if watchdog.has_expired:
                raise MailNotDelivered(f"not finished within {deadline_s:.0f} seconds") from error
            raise _translate_error(error) from error
        finally:
            watchdog.release()

    def _exchange(self, server: MailServer, message: EmailMessage | None, watchdog: DeadlineWatchdog) -> None:
        context = ssl.create_default_context()
        if self._ca_bundle is not None:
            context.load_verify_locations(self._ca_bundle)
        with _WatchedSmtp(server, context, watchdog) as smtp:
            smtp.ehlo()
            if not server.tls and smtp.has_extn("starttls"):
                smtp.starttls(context=context)
                assert smtp.sock is not None
                watchdog.watch(smtp.sock)
                smtp.ehlo()
            elif server.requires_tls and not server.tls:
                raise MailNotDelivered("the mail server does not offer TLS, which is required to send the password")
            if server.user is not None:
                smtp.login(server.user, server.password or "")
            if message is not None:
                _send_message(smtp, message)


def _send_message(smtp: smtplib.SMTP, message: EmailMessage) -> None:
    """Send ``message`` in a form that the mail server supports: 8-bit data only if it announces that (RFC 6152)."""
    eight_bit = [part for part in message.walk() if part["Content-Transfer-Encoding"] == "8bit"]
    if not smtp.has_extn("8bitmime"):
        for part in eight_bit:
            assert isinstance(part, EmailMessage)
            part.set_content(part.get_content(), subtype=part.get_content_subtype(), cte="quoted-printable")
        eight_bit = []
    smtp.send_message(message, mail_options=["BODY=8BITMIME"] if eight_bit and message["To"].isascii() else [])


class _WatchedSmtp(smtplib.SMTP):
    """An SMTP connection whose socket is watched from the start: the constructor of the base class already reads from
    it."""

    def __init__(self, server: MailServer, context: ssl.SSLContext, watchdog: DeadlineWatchdog) -> None:
        self._server, self._context, self._watchdog = server, context, watchdog
        super().__init__(server.host, server.port, timeout=watchdog.remaining_s())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the session, whatever the reply to QUIT: a mail that was accepted before must not be sent again."""
        with suppress(smtplib.SMTPResponseException):
            super().__exit__(kind, error, trace)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        # For each address, so that one that never responds leaves time for the others and for the mail.
        plain = socket.create_connection((host, port), timeout / _CONNECT_SHARE)
        plain.settimeout(timeout)
        self._watchdog.watch(plain)
        if not self._server.tls:
            return plain
        secured = self._context.wrap_socket(plain, server_hostname=host)
        self._watchdog.watch(secured)
        return secured


def _translate_error(error: Exception) -> MailNotDelivered:
    """Describe an error without secrets: with the response of the server, but not with what was sent."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
        return MailNotDelivered(_describe_reply(code, text), is_permanent=code >= 500)
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return MailNotDelivered(f"the mail server rejected the user name or password ({error.smtp_code})")
    if isinstance(error, smtplib.SMTPResponseException):
        # A server that rejects the connection, or requires a login, has not seen the mail, and may accept it later.
        concerns_mail = isinstance(error, smtplib.SMTPSenderRefused | smtplib.SMTPDataError)
        concerns_mail = concerns_mail and error.smtp_code != _LOGIN_REQUIRED
        is_permanent = concerns_mail and error.smtp_code >= 500
        return MailNotDelivered(_describe_reply(error.smtp_code, error.smtp_error), is_permanent=is_permanent)
    if isinstance(error, UnicodeError | ValueError):
        return MailNotDelivered(f"the mail cannot be composed: {error}", is_permanent=True)
    return MailNotDelivered(str(error) or type(error).__name__)


def _describe_reply(code: int, text: bytes | str) -> str:
    reply = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"the mail server answered {code} {' '.join(reply.split())[:200]}"
