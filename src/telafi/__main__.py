"""`python -m telafi` and the command `telafi`: the command line, and what its end means as an exit status."""

from __future__ import annotations

import sys


def main() -> int:
    """Answer the command line that this process was started with."""
    from telafi.cli.main import answer

    return answer(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
