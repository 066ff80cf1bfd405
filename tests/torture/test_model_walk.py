"""The short form of ``model_walk``."""

from docshare.server.pdf.engine import PdfEngine
from tests.torture import model_walk


def test_the_server_agrees_with_the_model(engine: PdfEngine) -> None:
    before = model_walk.step_counts["runs"]
    model_walk.run_walks(engine, runs=2, steps=25, derandomize=True)
    assert model_walk.step_counts["runs"] > before
