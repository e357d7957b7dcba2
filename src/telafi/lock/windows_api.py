"""LockFileEx and UnlockFileEx of Windows; never run by the tests, which use a fake in its place."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    import errno
    import msvcrt
    from ctypes import wintypes
    from typing import ClassVar, Final

    _FAIL_IMMEDIATELY: Final = 1
    _EXCLUSIVE: Final = 2
    _LOCK_VIOLATION: Final = 33
    _IO_PENDING: Final = 997

    class _Overlapped(ctypes.Structure):
        _fields_: ClassVar = [
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", wintypes.DWORD),
            ("offset_high", wintypes.DWORD),
            ("event", wintypes.HANDLE),
        ]

    class Kernel32:
        """The calls that lock one byte of an open file."""

        def __init__(self) -> None:
            library = ctypes.WinDLL("kernel32", use_last_error=True)
            word, pointer = wintypes.DWORD, ctypes.POINTER(_Overlapped)
            self._lock = library.LockFileEx
            self._lock.argtypes = [wintypes.HANDLE, word, word, word, word, pointer]
            self._lock.restype = wintypes.BOOL
            self._unlock = library.UnlockFileEx
            self._unlock.argtypes = [wintypes.HANDLE, word, word, word, pointer]
            self._unlock.restype = wintypes.BOOL

        def lock(self, descriptor: int, offset: int, *, shared: bool) -> None:
            """Lock the byte at once, or raise OSError."""
            flags = _FAIL_IMMEDIATELY | (0 if shared else _EXCLUSIVE)
            place = _Overlapped(offset=offset)
            if not self._lock(msvcrt.get_osfhandle(descriptor), flags, 0, 1, 0, ctypes.byref(place)):
                self._fail()

        def unlock(self, descriptor: int, offset: int) -> None:
            """Unlock the byte."""
            place = _Overlapped(offset=offset)
            if not self._unlock(msvcrt.get_osfhandle(descriptor), 0, 1, 0, ctypes.byref(place)):
                self._fail()

        def _fail(self) -> None:
            code = ctypes.get_last_error()
            if code in (_LOCK_VIOLATION, _IO_PENDING):
                raise PermissionError(errno.EACCES, "another process holds the lock")
            raise ctypes.WinError(code)
