"""Many processes on one lock file, with and without somebody who deletes it."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from telafi.lock.file import lock_path
from tests.lock.agents import HERE, environment

PROCESSES = 8
ROUNDS = 200


def contend(path: Path, mode: str) -> tuple[int, int]:
    """Let the contenders loose on the path; give how often one was inside, and how often one was not alone."""
    chance = random.Random(path.name)
    command = [sys.executable, str(HERE / "contender.py"), str(path), str(ROUNDS), mode]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
        for _ in range(PROCESSES)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        while mode == "deleter" and any(process.poll() is None for process in started):
            if chance.random() < 0.002:
                path.unlink(missing_ok=True)
        counts = [json.loads(process.communicate()[0]) for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate()
    return sum(entered for entered, _ in counts), sum(collisions for _, collisions in counts)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["polite", "unlinking", "deleter"])
def test_T2_07_never_two_holders(tmp_path: Path, mode: str) -> None:
    # Deleting a held file always lets a second process lock a new one: no check can prevent that. What holds is that
    # the first one's `still_mine` says so, and that a holder who deletes it before giving it back harms nobody.
    entered, collisions = contend(lock_path(tmp_path, "report"), mode)
    assert (entered, collisions) == (PROCESSES * ROUNDS, 0)
