"""`python -m bench [NAME…]`: run the benchmarks and print their tables."""

import sys
from collections.abc import Callable

from bench import keys, startup, windows
from bench.table import machine

BENCHMARKS: dict[str, Callable[[], None]] = {
    "startup": startup.main,
    "keys": keys.main,
    "windows": windows.main,
}


def main() -> int:
    chosen = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in chosen if name not in BENCHMARKS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    print(machine())
    for name in chosen:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
