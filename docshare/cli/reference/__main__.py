"""``python -m docshare.cli.reference [--check]``: write ``man/`` and ``completions/``, or check them."""

import sys

from docshare.cli.reference.generate import main

sys.exit(main(sys.argv[1:]))
