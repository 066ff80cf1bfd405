"""``python -m docshare.cli.reference [--check]``: write the generated files, or check them."""

import sys

from docshare.cli.reference.generate import main

sys.exit(main(sys.argv[1:]))
