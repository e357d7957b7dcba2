"""Settings and where each comes from: flag over environment over pyproject.toml; and the application they name."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from telafi.errors import OutOfReach, WrongUse

if TYPE_CHECKING:
    from telafi.app import Telafi

FILE: Final = "pyproject.toml"
VARIABLE: Final = "TELAFI_APP"
NO_APPLICATION: Final = """\
no application is given: name it in one of three ways, such as shop.jobs:app for the object `app` in shop/jobs.py: \
the option -A shop.jobs:app, the environment variable TELAFI_APP=shop.jobs:app, or app = "shop.jobs:app" under \
[tool.telafi] in pyproject.toml"""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and where it was given: a flag, a variable, or a file and its directory."""

    value: str
    origin: str
    directory: Path | None = None


def application_setting(flag: str | None, environment: Mapping[str, str], directory: Path) -> Setting:
    """Find which application is meant; raises WrongUse where nobody says it."""
    if flag is not None:
        return Setting(flag, "the option -A")
    if environment.get(VARIABLE):
        return Setting(environment[VARIABLE], f"the environment variable {VARIABLE}")
    for place in (directory, *directory.parents):
        value = _in_file(place / FILE)
        if value is not None:
            return Setting(value, f"{place / FILE}", place)
    raise WrongUse(NO_APPLICATION)


def load_application(setting: Setting, directory: Path) -> Telafi:
    """Import the application, with the setting's directory and the current one on the path.

    Raises WrongUse with what is wrong and who asked for it; an error of the imported code is its cause.
    """
    from telafi.app import Telafi

    module_name, _, attribute = setting.value.partition(":")
    if not attribute or not all(part.isidentifier() for part in module_name.split(".")):
        raise WrongUse(f"{_given(setting)} is no application: write module:name, such as shop.jobs:app")
    for place in (directory, setting.directory):
        if place is not None and str(place) not in sys.path:
            sys.path.insert(0, str(place))
    found: Any = _imported(module_name, setting, directory)
    for name in attribute.split("."):
        found = getattr(found, name, None)
    if isinstance(found, Telafi):
        return found
    what = "there is no such name in it" if found is None else f"it is of type {type(found).__name__}"
    raise WrongUse(
        f"{_given(setting)} is no Telafi application: {what}; "
        f"name the object that was made by Telafi(...) in the module {module_name}"
    )


def _in_file(path: Path) -> str | None:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if "telafi" not in text:
        return None
    import tomllib

    try:
        value = tomllib.loads(text).get("tool", {}).get("telafi", {}).get("app")
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{path} cannot be read: {error}") from error
    if value is not None and not isinstance(value, str):
        raise WrongUse(f"{path}: app under [tool.telafi] must be a text, such as app = 'shop.jobs:app'")
    return value


def _imported(name: str, setting: Setting, directory: Path) -> Any:
    try:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)  # noqa: TRY301 - one answer for both
        return import_module(name)
    except OutOfReach:
        raise
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            looked = f"looked in {directory} and in Python's path"
            text = f"{_given(setting)} is not found: there is no module {missing}; {looked}"
        else:
            text = f"{_given(setting)} cannot be imported: {_where(error)}{type(error).__name__}: {error}"
        raise WrongUse(text) from error


def _given(setting: Setting) -> str:
    return f"{setting.value!r} (from {setting.origin})"


def _where(error: BaseException) -> str:
    """Say on which line of whose code it happened: the last one that is neither Telafi's nor the importer's."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: "
    ours = f"{Path(__file__).parent}{os.sep}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<frozen importlib"))
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
