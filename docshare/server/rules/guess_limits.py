"""How long the next password waits after wrong ones. Pure.

Ten wrong ones on a file are free. From then on each waits a second longer than the one before, so that somebody with
many addresses gets fewer than a hundred in an hour, and a reader never waits longer than a minute and a half.
"""

from docshare.contract.limits import SECOND

_FREE_ATTEMPTS = 10


def password_delay_ms(wrong: int, since_ms: int) -> int:
    """How long until the next password is looked at, in milliseconds; 0 for at once.

    Parameters: ``wrong`` how many wrong ones the file had in the last hour; ``since_ms`` how long ago the last was.
    """
    if wrong < _FREE_ATTEMPTS:
        return 0
    return max((wrong - _FREE_ATTEMPTS + 1) * SECOND - since_ms, 0)
