"""Kill the server at 200 random points during uploads: ``python -m tests.torture.kills [ROUNDS]``."""

import sys
import tempfile
from pathlib import Path

from tests.support.servers.upload_kills import kill_during_uploads


def main(rounds: int = 200) -> int:
    """Print what was lost or damaged and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        tally = kill_during_uploads(Path(folder), rounds, seed=rounds)
    print(f"kills {tally.kills}, acknowledged uploads {len(tally.acknowledged)}, lost {len(tally.lost_uploads)}")
    print(f"damaged {len(tally.damaged_files)}, orphans {tally.orphans}, partials {tally.partials}")
    print(f"slowest restart {max(tally.restart_seconds):.2f} s")
    for line in (tally.lost_uploads + tally.damaged_files)[:20]:
        print(" ", line)
    return 1 if tally.lost_uploads or tally.damaged_files or tally.orphans or tally.partials else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
