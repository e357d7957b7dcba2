"""Runs every check at once and shows what failed: `make check`."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(pytest_arguments: list[str]) -> int:
    checks = {
        "ruff check": [tool("ruff"), "check", "--quiet", "."],
        "ruff format": [tool("ruff"), "format", "--check", "--quiet", "."],
        "mypy": [tool("mypy"), "--no-error-summary"],
        "import-linter": [tool("lint-imports"), "--no-logo", "--no-cache"],
        "pytest": [tool("pytest"), "--quiet", "--tb=short", *fast_test_folders(), *pytest_arguments],
    }
    with ThreadPoolExecutor(max_workers=len(checks)) as pool:
        outcomes = list(pool.map(run, checks, checks.values()))
    return 0 if all(outcomes) else 1


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def fast_test_folders() -> list[str]:
    return [name for name in ("tests/unit", "tests/architecture") if (ROOT / name).is_dir()]


def run(name: str, command: list[str]) -> bool:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    verdict = "ok" if done.returncode == 0 else "FAILED"
    head = f"{name:<14} {verdict:<7} {time.perf_counter() - start:5.1f} s\n"
    body = "" if done.returncode == 0 and name != "pytest" else done.stdout + done.stderr
    sys.stdout.write(head + body)
    sys.stdout.flush()
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
