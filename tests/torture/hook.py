"""Inject the payload into a worker; called by the ``sitecustomize`` that ``confinement`` passes to the process."""

from collections.abc import Callable
from typing import Any

from docshare.contract.problems import Problem
from docshare.server.office import prescan
from docshare.server.pdf.worker import confine, derive, image_mark, inspect, palette, picture, render, text
from docshare.server.pdf.worker.lint import clean, report
from tests.torture import payload


def arm(targets: payload.Targets) -> None:
    """Make every kind of job run an attempt once the process is confined."""
    armed = []

    def replace_function(
        module: Any, function: str, get_name: Callable[..., str], make_result: Callable[[str], Any]
    ) -> None:
        original = getattr(module, function)

        def run_instead(*args: Any, **kwargs: Any) -> Any:
            return (
                make_result(payload.run_attempt(get_name(*args, **kwargs), targets))
                if armed
                else original(*args, **kwargs)
            )

        setattr(module, function, run_instead)

    def confine_and_arm(*args: Any) -> confine.ConfinementStatus:
        status = confined(*args)
        armed.append(True)
        return status

    confined, confine.confine = confine.confine, confine_and_arm
    replace_function(render, "render_jpeg", lambda document, page, width, mark: width, str.encode)
    replace_function(render, "render_tile", lambda document, page, tile, mark: tile, str.encode)
    replace_function(text, "extract_plain_texts", lambda document, first, *more: first, str.encode)
    replace_function(inspect, "measure_pages", lambda document, most: most, str.encode)
    replace_function(derive, "derive_document", lambda file, job: job["first"], str.encode)
    replace_function(image_mark, "stamp_image", lambda file, mark, *more: mark, str.encode)
    replace_function(picture, "reencode_image", lambda file, media_type: media_type, str.encode)
    replace_function(clean, "make_clean_copy", lambda file, keep_title: keep_title, str.encode)
    replace_function(report, "lint_document", lambda documents, job: job["budget_s"], str.encode)
    replace_function(text, "extract_page_text", lambda document, page: page, str)
    replace_function(palette, "find_palette", lambda document, budget_s: budget_s, str)
    replace_function(prescan, "prescan", lambda file, kind: kind, _raise)


def _raise(result: str) -> None:
    raise Problem("unprocessable", result, hint="")
