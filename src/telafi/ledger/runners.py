"""The three runners of steps: blocking, async, and one that stops before a chosen step."""

from __future__ import annotations

import os
from typing import TypeVar

from telafi.ledger.steps import AsyncHandle, Handle, Steps

T = TypeVar("T")


class Stopped(BaseException):
    """A run was stopped before the step that was chosen, as if the process had ended there."""


def perform(steps: Steps[T], handle: Handle) -> T:
    """Run steps with blocking calls and give back what they return."""
    process = os.getpid()
    advance, value = steps.send, None
    while True:
        try:
            request = advance(value)
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            advance, value = steps.send, request.do(handle)
        except BaseException as error:
            if os.getpid() != process:
                raise  # a child was forked in the user's code: these steps are its parent's
            advance, value = steps.throw, error


async def aperform(steps: Steps[T], handle: AsyncHandle) -> T:
    """Run the same steps with coroutines."""
    process = os.getpid()
    advance, value = steps.send, None
    while True:
        try:
            request = advance(value)
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            advance, value = steps.send, await request.ado(handle)
        except BaseException as error:
            if os.getpid() != process:
                raise
            advance, value = steps.throw, error


def perform_until(steps: Steps[T], handle: Handle, stop_before: int) -> T:
    """Run steps and stop before request number `stop_before` (from 0), leaving the connection as it is.

    Raises Stopped where the steps were longer than that: what a crash at that very point would leave behind.
    """
    advance, value, number = steps.send, None, 0
    while True:
        try:
            request = advance(value)
        except StopIteration as end:
            result: T = end.value
            return result
        if number == stop_before:
            raise Stopped
        number += 1
        try:
            advance, value = steps.send, request.do(handle)
        except BaseException as error:  # noqa: BLE001 - the step decides
            advance, value = steps.throw, error
