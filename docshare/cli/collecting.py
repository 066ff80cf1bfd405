"""Options that several commands share: declared once, as a dataclass whose fields are annotated as parameters are."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def collecting(kind: type[T], name: str = "given") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command so that it takes the options of ``kind`` and gets their values as its parameter ``name``."""
    taken = inspect.signature(kind, eval_str=True).parameters

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = dict(inspect.signature(function, eval_str=True).parameters)
        del own[name]

        @functools.wraps(function)
        def run(**values: Any) -> Any:
            chosen = kind(**{key: values.pop(key) for key in taken})
            return function(**values, **{name: chosen})

        shown = [each.replace(kind=each.KEYWORD_ONLY) for each in (*own.values(), *taken.values())]
        vars(run)["__signature__"] = inspect.Signature(shown)
        run.__annotations__ = {each.name: each.annotation for each in shown}
        return run

    return decorate
