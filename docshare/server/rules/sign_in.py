"""The rules for passwords of accounts. Pure."""

from docshare.contract.limits import ACCOUNT_PASSWORD_CHARS, PASSWORD_BYTES
from docshare.contract.problems import Problem


def require_password(password: str, email: str) -> str:
    """Return ``password`` if it is acceptable for the account of ``email``. Raises ``bad_request``.

    Only length makes guessing infeasible; rules about symbols and digits make people write passwords down.
    """
    if len(password) < ACCOUNT_PASSWORD_CHARS:
        raise _password_problem(f"at least {ACCOUNT_PASSWORD_CHARS} characters long")
    if len(password.encode("utf-8", "replace")) > PASSWORD_BYTES:
        raise _password_problem(f"at most {PASSWORD_BYTES} bytes long")
    if not password.isprintable():
        raise _password_problem("one line, without tabs and control characters")
    if password.strip().casefold() == email.casefold() or len(set(password)) == 1:
        raise _password_problem("something other than your email address or one repeated character")
    return password


def _password_problem(rule: str) -> Problem:
    hint = "Choose another password."
    return Problem("bad_request", f"The password must be {rule}.", hint=hint, field="password")
