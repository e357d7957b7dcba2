"""A pipe that takes no more."""

import os


def fill(descriptor: int) -> None:
    os.set_blocking(descriptor, False)
    try:
        while True:
            os.write(descriptor, b"x" * 4_096)
    except BlockingIOError:
        os.set_blocking(descriptor, True)
