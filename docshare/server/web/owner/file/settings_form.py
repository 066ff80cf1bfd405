"""Store a submitted form over the settings of a file, or show it again: the same for ``settings`` and ``looks``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.services.files import settings
from docshare.server.web.owner.file import changes
from docshare.server.web.owner.file.controls import VIEWER_SETTINGS
from docshare.server.web.owner.file.file_page import OwnedFile, find_owned_file, read_form
from docshare.server.web.owner.frame import SignedInOwner, redirect_with_message

# Renders the page of a rejected form: its values, the values when it was rendered (None: lost), and the problems.
Reject = Callable[[SignedInOwner, OwnedFile, dict[str, str], Mapping[str, str] | None, Sequence[Problem]], AnyResponse]


def store_changes(owner: SignedInOwner, name: str, tab: str, reject: Reject) -> AnyResponse:
    """Store the settings changed in the form of the page ``tab``. Raises ``not_found``; other problems are shown."""
    owned, sent = find_owned_file(owner, name), read_form()
    read = changes.read_changes(sent, owned.file, owner.caller.plan)
    shown, body, problems = read if read.problems else changes.reject_outdated(read, owned.file, owner.caller.plan)
    if not problems:

        def merge(stored: dict[str, Any]) -> dict[str, Any]:
            merged = changes.read_changes(sent, {VIEWER_SETTINGS: stored}, owner.caller.plan)
            for problem in merged.problems:
                raise problem
            return dict(merged.body[VIEWER_SETTINGS])

        depends = merge if VIEWER_SETTINGS in body else None
        try:
            settings.change_settings(current_runtime(), owner.caller, owned.row.uuid, body, merge=depends)
            return redirect_with_message(f"{owned.path}/{tab}", "Saved.")
        except Problem as problem:
            problems = [problem]
    return reject(owner, owned, sent, shown, problems)


def show_again(owner: SignedInOwner, problem: Problem, name: str, reject: Reject) -> AnyResponse:
    """Show the form that was rejected with ``problem`` before it was read. Raises ``not_found``."""
    owned, sent = find_owned_file(owner, name), read_form()
    return reject(owner, owned, sent, changes.read_changes(sent, owned.file, owner.caller.plan).shown, [problem])
