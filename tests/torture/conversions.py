"""Flood LibreOffice from one account while another converts and uploads: ``python -m tests.torture.conversions``.

A Pro account uploads Word documents whose conversion reaches the time limit, with eight clients and without pause.
Meanwhile, another account uploads ordinary Word documents and PDFs. Exits with 1 after a response other than 200, or if
the response times exceed the limits.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.support.documents import office
from tests.torture.flooded_server import AttackRequest, FloodedServer, open_flooded_server
from tests.torture.rendering import (
    ResponseTimes,
    attack_in_background,
    measure_calls,
    measure_uploads,
    print_verdict,
)

CLIENTS = 8
DOCUMENTS = 20
CONVERSIONS = 10
SLOW_ROWS = 8_000  # more than a minute of processor time
CONVERSION_RATIO, UPLOAD_RATIO = 3.0, 2.0


def make_slow_documents(rows: int = SLOW_ROWS) -> list[bytes]:
    """Return Word documents with a table of ``rows`` rows, each with different bytes."""
    chance = random.Random(1)
    cells = "".join(f"<w:tc><w:p><w:r><w:t>{chance.getrandbits(40):x}</w:t></w:r></w:p></w:tc>" for _ in range(6))
    table = f"<w:tbl>{f'<w:tr>{cells}</w:tr>' * rows}</w:tbl>"
    slow = office.replace_in_part(office.make_docx(), office.DOCUMENT, "<w:body>", f"<w:body>{table}")
    return [office.change_parts(slow, {"word/number.bin": str(number)}) for number in range(DOCUMENTS)]


def build_attack(stage: FloodedServer, rows: int = SLOW_ROWS) -> list[AttackRequest]:
    """Return uploads of slow documents by one new account."""
    mal = stage.create_attacker("pro")
    return [
        AttackRequest("POST", f"{stage.server.url}/api/v1/files", document, mal.key)
        for document in make_slow_documents(rows)
    ]


def measure_conversions(stage: FloodedServer, times: int = CONVERSIONS) -> ResponseTimes:
    """Measure uploads of ordinary Word documents."""
    document = office.make_docx("Good news", pages=3)
    return measure_calls(lambda: stage.innocent.upload(document, "letter.docx")[0], times)


def main() -> int:
    """Run the attack, print the measurements, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, open_flooded_server(Path(folder)) as stage:
        attack = build_attack(stage)
        measure_conversions(stage, 2)
        quiet = measure_conversions(stage), measure_uploads(stage, 1)
        with attack_in_background(attack, CLIENTS) as get_statuses:
            time.sleep(5)
            seen = measure_conversions(stage), measure_uploads(stage, 2)
    print(f"attacker: {get_statuses()}")
    verdicts = [
        print_verdict("conversions", quiet[0], seen[0], CONVERSION_RATIO),
        print_verdict("uploads of PDFs", quiet[1], seen[1], UPLOAD_RATIO),
    ]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
