import io
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TextIO

import pytest

from telafi.observe import streams
from telafi.observe.streams import LineStream
from tests.observe.pipes import fill

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pipe cannot be waited for on Windows")


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w", encoding="utf-8")
    yield reader, stream
    for close in (stream.close, lambda: os.close(reader)):
        with suppress(OSError):
            close()


def test_lines_arrive_behind_what_was_printed_before(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    stream.write("printed\n")
    lines = LineStream(stream)
    lines.write("PROCESSED job=a")
    assert os.read(reader, 1_000) == b"printed\nPROCESSED job=a\n"
    assert lines.dropped == 0


def test_a_reader_that_is_gone_costs_lines_and_nothing_else(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    os.close(reader)
    lines = LineStream(stream)
    for _ in range(3):
        lines.write("PROCESSED job=a")
    assert lines.dropped == 3


def test_a_reader_that_is_stuck_is_waited_for_a_few_times_only(
    pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, stream = pipe
    monkeypatch.setattr(streams, "WAIT_SECONDS", 0.001)
    fill(stream.fileno())
    lines = LineStream(stream)
    for _ in range(10):
        lines.write("PROCESSED job=a")
    assert lines.dropped == 10
    os.read(reader, 1 << 20)
    lines.write("PROCESSED job=b")
    assert lines.dropped == 10
    assert os.read(reader, 1_000) == b"PROCESSED job=b\n"


def test_a_line_that_was_torn_does_not_swallow_the_next(
    pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, stream = pipe
    monkeypatch.setattr(streams, "WAIT_SECONDS", 0.001)
    fill(stream.fileno())
    os.read(reader, 8_192)
    lines = LineStream(stream)
    lines.write("y" * 100_000)
    assert lines.dropped == 1
    while os.get_blocking(reader) and len(os.read(reader, 1 << 20)) == 1 << 20:
        pass
    lines.write("next")
    assert os.read(reader, 1 << 20).endswith(b"\nnext\n")


def test_a_full_disk_is_tried_again() -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - one look
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as stream:  # noqa: PTH123 - a device
        lines = LineStream(stream)
        lines.write("a")
        lines.write("b")
        assert lines.dropped == 2


def test_a_stream_without_a_descriptor_is_written_to() -> None:
    stream = io.StringIO()
    LineStream(stream).write("a")
    assert stream.getvalue() == "a\n"


def test_a_stream_that_is_missing_or_closed_counts() -> None:
    missing, stream = LineStream(None), io.StringIO()
    closed = LineStream(stream)
    stream.close()
    for lines in (missing, closed):
        lines.write("a")
        assert lines.dropped == 1


def test_what_the_streams_encoding_lacks_is_escaped() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="ascii") as stream:
        LineStream(stream).write("günlük")
    assert os.read(reader, 100) == b"g\\xfcnl\\xfck\n"
    os.close(reader)
