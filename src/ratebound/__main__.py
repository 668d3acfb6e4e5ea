"""``python -m ratebound``: the command line."""

from __future__ import annotations

import sys

from ratebound._old.cli import main

if __name__ == "__main__":
    sys.exit(main())
