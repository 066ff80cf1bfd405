"""Inject the payload into a worker; called by the ``sitecustomize`` that ``confinement`` passes to the process."""

from collections.abc import Callable
from typing import Any

from docshare.contract.problems import Problem
from docshare.server.office import prescan
from docshare.server.pdf.worker import confine, derive, image_mark, inspect, palette, picture, render, text
from docshare.server.pdf.worker.lint import clean, report
from tests.torture import payload


def arm(at: payload.Targets) -> None:
    """Make every kind of job run an attempt once the process is confined."""
    armed = []

    def take_over(module: Any, function: str, name_in: Callable[..., str], answer: Callable[[str], Any]) -> None:
        plain = getattr(module, function)

        def instead(*args: Any, **kwargs: Any) -> Any:
            return answer(payload.run_attempt(name_in(*args, **kwargs), at)) if armed else plain(*args, **kwargs)

        setattr(module, function, instead)

    def put_on(*args: Any) -> confine.ConfinementStatus:
        status = confined(*args)
        armed.append(True)
        return status

    confined, confine.confine = confine.confine, put_on
    take_over(render, "render_jpeg", lambda document, page, width, mark: width, str.encode)
    take_over(inspect, "measure_pages", lambda document, most: most, str.encode)
    take_over(derive, "derive_document", lambda file, job: job["first"], str.encode)
    take_over(image_mark, "stamp_image", lambda file, mark: mark, str.encode)
    take_over(picture, "reencode_image", lambda file, media_type: media_type, str.encode)
    take_over(clean, "make_clean_copy", lambda file, keep_title: keep_title, str.encode)
    take_over(report, "lint_document", lambda documents, job: job["budget_s"], str.encode)
    take_over(text, "extract_page_text", lambda document, page: page, str)
    take_over(palette, "find_palette", lambda document, budget_s: budget_s, str)
    take_over(prescan, "prescan", lambda file, kind: kind, _raise)


def _raise(result: str) -> None:
    raise Problem("unprocessable", result, hint="")
