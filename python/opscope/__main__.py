"""`python -m opscope`: the command."""

import sys

from opscope._cli import main

if __name__ == "__main__":
    sys.exit(main())
