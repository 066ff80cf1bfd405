"""Why a form was rejected: which control each problem is about, and what to type instead, in plain words. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docshare.contract.problems import PROBLEMS, Problem

_NAMED_RULE = re.compile(r"\S+ must (?:be )?(.+)\.")
_LONG_NUMBER = re.compile(r"[0-9]{5,}")
# Rules of the contract that only a developer understands -> what to do in a form.
_PLAIN_RULES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"an integer from (\d+) to (\d+)", r"Enter a whole number from \1 to \2."),
        (r"a number from ([\d.]+) to ([\d.]+)", r"Enter a number from \1 to \2."),
        (r"a string of 1 to (\d+) characters", r"Enter 1 to \1 characters."),
        (r"a string of 0 to (\d+) characters", r"Enter at most \1 characters."),
        (r"a string without control characters", "Enter one line of text."),
        (
            r"an object \{from, to\}.*",
            "Enter the first and the last page in order, or leave both empty for all pages.",
        ),
        (r"within the (\d+) pages .*", r"Enter pages from 1 to \1, or leave both empty for all pages."),
        (r"an ISO 8601 datetime.*", "Enter a date and a time."),
        (r"a lowercase letter, then letters.*", "Start with a lowercase letter, then use letters, digits, or _."),
        (r"a list with exactly one field of type email", "Ask exactly one question of the type email address."),
        (r"a list of fields with different keys", "Give each question its own field name."),
        (r"a list of up to (\d+) domains", r"Enter at most \1 domains."),
        (r"a list of one or more event kinds", "Choose at least one event."),
        (r"(?:X,Y,W,H: )?x, y, width, and height .*", "Enter an area inside the page, in percent of the page."),
        (r"a UUID", "Choose one from the list."),
        (r"a list of one or more of: .*", "Choose at least one."),
        (r"not be empty", "Enter a text."),
        (r"a measurement id of the form (\S+)", r"Enter an id of the form \1."),
        (r"a color of the form #RRGGBB", "Enter a color such as #2b6cb0."),
        (r"one of .*", "Choose one from the list."),
        (r"have .*", "Fill this in too."),
        (r"a (?:text|list) .*|a string|a text", "Enter a text."),
    )
)


@dataclass(frozen=True)
class FieldError:
    """``words`` beside the control whose id is ``control``; ``label`` names it in the list above the form."""

    control: str
    label: str
    words: str


@dataclass(frozen=True)
class FormErrors:
    """The errors of a form: ``found`` in the order of the controls, and ``general``, which is not about a control."""

    found: tuple[FieldError, ...] = ()
    general: Problem | None = None

    def __bool__(self) -> bool:
        return bool(self.found) or self.general is not None

    def words(self, control: str) -> str:
        """Return the error of the control with the id ``control``, empty if it has none."""
        return " ".join(error.words for error in self.found if error.control == control)

    def is_first(self, control: str) -> bool:
        """Return whether the control is the first one with an error, which gets the focus."""
        return bool(self.found) and self.found[0].control == control


def locate_errors(problems: Sequence[Problem] | Problem | None, controls: Mapping[str, tuple[str, str]]) -> FormErrors:
    """Return the errors of a form.

    Parameters: ``problems`` why it was rejected, None if it was not; ``controls`` of the form, in its order: the field
    of the request -> id and label of the control.
    """
    found, general = [], None
    for problem in [problems] if isinstance(problems, Problem) else problems or ():
        if problem.field in controls:
            found.append(FieldError(*controls[problem.field], describe_problem(problem)))
        else:
            general = general or problem
    order = [control for control, _ in controls.values()]
    return FormErrors(tuple(sorted(found, key=lambda error: order.index(error.control))), general)


def describe_problem(problem: Problem) -> str:
    """Return what to do about the problem of one field, without its name."""
    hint = "" if problem.hint == PROBLEMS[problem.code].hint else problem.hint
    named = _NAMED_RULE.fullmatch(problem.detail)
    for pattern, words in _PLAIN_RULES:
        if named and (match := pattern.fullmatch(named[1])):
            return _LONG_NUMBER.sub(lambda digits: f"{int(digits[0]):,}", match.expand(words))
    detail = f"It must be {named[1]}." if named else problem.detail.removeprefix(f"The setting {problem.field} ")
    return f"{detail[:1].upper()}{detail[1:]} {hint}".strip()
