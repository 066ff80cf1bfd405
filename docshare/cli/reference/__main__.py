"""``python -m docshare.cli.reference [--check]`` writes ``man/`` and ``completions/``, or checks them."""

import sys

from docshare.cli.reference.generate import main

sys.exit(main(sys.argv[1:]))
