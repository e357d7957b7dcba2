"""Which application is meant, where that was said, and what is wrong where it cannot be had."""

import subprocess
import sys
from pathlib import Path

import pytest

from telafi.errors import WrongUse
from telafi.settings import Setting, application_setting
from tests.cli.sample import Shop

FILE = '[tool.telafi]\napp = "shop:app"\n'


def test_a_flag_comes_before_the_environment_and_that_before_a_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(FILE, encoding="utf-8")
    below = tmp_path / "a" / "b"
    environment = {"TELAFI_APP": "from.environment:app"}
    assert application_setting("flag:app", environment, below) == Setting("flag:app", "the option -A")
    by_variable = Setting("from.environment:app", "the environment variable TELAFI_APP")
    assert application_setting(None, environment, below) == by_variable
    by_file = Setting("shop:app", str(tmp_path / "pyproject.toml"), tmp_path)
    assert application_setting(None, {"TELAFI_APP": ""}, below) == by_file


def test_a_file_without_the_setting_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(FILE, encoding="utf-8")
    below = tmp_path / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text("[project]\nname = 'telafi-user'\n", encoding="utf-8")
    assert application_setting(None, {}, below).value == "shop:app"


@pytest.mark.parametrize(
    ("text", "answer"), [("[tool.telafi\n", "cannot be read"), ("[tool.telafi]\napp = 3", "a text")]
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, text: str, answer: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(WrongUse, match=answer) as caught:
        application_setting(None, {}, tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_without_an_application_all_three_ways_are_named(shop: Shop) -> None:
    done = shop.telafi("status", TELAFI_APP="")
    assert done.returncode == 2
    for way in ("-A shop.jobs:app", "TELAFI_APP=shop.jobs:app", "[tool.telafi] in pyproject.toml"):
        assert way in done.stderr


def test_the_option_may_stand_before_or_behind_the_command(shop: Shop) -> None:
    for arguments in (["-A", "shop:app", "status"], ["status", "-A", "shop:app"], ["status", "--app=shop:app"]):
        assert shop.telafi(*arguments, TELAFI_APP="").returncode == 0


def test_a_file_in_a_parent_directory_names_a_module_beside_it(shop: Shop) -> None:
    (shop.directory / "pyproject.toml").write_text(FILE, encoding="utf-8")
    below = shop.directory / "below"
    below.mkdir()
    done = subprocess.run(
        shop.command("run", "sales-summary"), cwd=below, env=shop.environment(TELAFI_APP=""),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_installed_command_finds_a_module_in_the_current_directory(shop: Shop) -> None:
    command = [str(Path(sys.executable).with_name("telafi")), "status"]
    done = subprocess.run(
        command, cwd=shop.directory, env=shop.environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


BROKEN = {
    "x = 1 / 0": "broken.py:1: ZeroDivisionError: division by zero",
    "import nosuchmodule": "broken.py:1: ModuleNotFoundError: No module named 'nosuchmodule'",
    "def f(:": "broken.py:1: SyntaxError: invalid syntax",
    "import sys\nsys.exit(0)": "broken.py:2: SystemExit: 0",
    "app = 3": "is no Telafi application: it is of type int",
    "": "is no Telafi application: there is no such name in it",
    "from telafi import Telafi\n\nTelafi('sqlite:///a.db').job(every='1x')(print)": "broken.py:3: ScheduleError:",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_module_is_2_with_its_own_words_and_place(shop: Shop, text: str) -> None:
    (shop.directory / "broken.py").write_text(text, encoding="utf-8")
    done = shop.telafi("-A", "broken:app", "status")
    assert done.returncode == 2
    assert done.stderr.startswith("telafi: 'broken:app' (from the option -A) ")
    assert BROKEN[text] in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["nowhere:app", "nowhere.at.all:app", "shop.nowhere:app"])
def test_a_missing_module_is_named_with_where_it_was_looked_for(shop: Shop, name: str) -> None:
    done = shop.telafi("status", "-A", name)
    assert done.returncode == 2
    assert "is not found: there is no module" in done.stderr
    assert str(shop.directory) in done.stderr


@pytest.mark.parametrize("name", ["shop", "shop:", ":app", "shop.py:app/x", "3:app"])
def test_a_malformed_name_is_2(shop: Shop, name: str) -> None:
    done = shop.telafi("status", "-A", name)
    assert done.returncode == 2
    assert "telafi: " in done.stderr


def test_a_traceback_only_for_those_who_ask(shop: Shop) -> None:
    (shop.directory / "broken.py").write_text("x = 1 / 0", encoding="utf-8")
    quiet = shop.telafi("-A", "broken:app", "status")
    loud = shop.telafi("--debug", "-A", "broken:app", "status")
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr
    assert "x = 1 / 0" in loud.stderr
    assert quiet.returncode == loud.returncode == 2
