"""Workers that foreign code has taken over: what they say instead of an answer reaches nobody."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from docshare.server.pdf.child import BrokenWorkerError, Child
from docshare.server.pdf.engine import Engine, Unrenderable
from tests.support.pdfs import simple_pdf

Put = Callable[..., Path]
Pose = Callable[..., None]


def answer(body: bytes, **header: object) -> bytes:
    """``body`` as a worker sends it."""
    return json.dumps({**header, "size": len(body)}).encode("ascii") + b"\n" + body


@pytest.fixture
def forged(put: Put) -> bytes:
    """The image of a page that a worker could want somebody else to see."""
    with closing(Engine(workers=1)) as engine:
        return engine.render(put(simple_pdf(1), "forged.pdf"), 1, 80)


def test_a_second_answer_right_behind_the_first_is_given_to_nobody(put: Put, pose: Pose, forged: bytes) -> None:
    path = put(simple_pdf(1))
    pose(answer(forged) + answer(forged))
    with closing(Engine(workers=1)) as engine:
        with pytest.raises(Unrenderable):
            engine.render(path, 1, 80)
        assert engine.pids() == []


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one(put: Put, pose: Pose, forged: bytes) -> None:
    job = {"do": "render", "path": str(put(simple_pdf(1))), "page": 1, "width": 80}
    pose(answer(forged), later=answer(b"of the first owner"))
    child = Child(memory_bytes=1 << 30, timeout_s=20.0)
    try:
        assert child.ask(job).body == forged
        time.sleep(0.5)
        with pytest.raises(BrokenWorkerError, match="more than it was asked"):
            child.ask(job)
    finally:
        child.kill()


def test_who_comes_after_such_a_worker_gets_a_new_one(put: Put, pose: Pose, forged: bytes) -> None:
    path = put(simple_pdf(1))
    with closing(Engine(workers=1)) as engine:
        pose(answer(forged), later=answer(b"\xff\xd8\xff of the first owner"))
        assert engine.render(path, 1, 80) == forged
        (first,) = engine.pids()
        pose(answer(forged))
        time.sleep(0.5)
        assert engine.render(path, 1, 80) == forged
        assert engine.pids() != [first]
