"""File systems on which locks do not keep other machines away."""

from pathlib import Path

import pytest

from telafi.errors import LockPlaceError
from telafi.ledger.mounts import Mount, file_system_of, is_network, mount_of
from telafi.lock.place import prepare

MOUNTINFO = r"""
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:21 / /proc rw,relatime - proc proc rw
30 21 0:40 / /srv/data rw,relatime shared:5 master:2 - nfs4 store:/export rw,vers=4.2
31 30 0:41 / /srv/data/local rw,relatime - xfs /dev/vdb rw
32 21 0:42 / /mnt/Yeni\040Klas\303\266r\134x rw - cifs //host/share rw
33 21 0:43 / /over rw - ext4 /dev/vdc rw
34 33 0:44 / /over rw - fuse.sshfs ayse@host: rw
rubbish
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "ext4"),
        ("/srv", "ext4"),
        ("/srv/data", "nfs4"),
        ("/srv/data/not/yet/there", "nfs4"),
        ("/srv/database", "ext4"),
        ("/srv/data/local/x", "xfs"),
        ("/over/x", "fuse.sshfs"),
    ],
)
def test_the_longest_mount_point_decides(path: str, expected: str) -> None:
    assert file_system_of(Path(path), MOUNTINFO) == expected


def test_escaped_mount_points_are_understood() -> None:
    mountinfo = r"32 21 0:42 / /mnt/Yeni\040Klasor\134x\011y rw - cifs //host/share rw"
    assert mount_of(Path("/mnt/Yeni Klasor\\x\ty/z"), mountinfo) == Mount("/mnt/Yeni Klasor\\x\ty", "cifs")
    assert mount_of(Path("/mnt/Günlük/z"), "32 21 0:42 / /mnt/Günlük rw - nfs store:/x rw") == Mount(
        "/mnt/Günlük", "nfs"
    )


@pytest.mark.parametrize("text", ["", "rubbish", " - ", "1 2 3 4 - ext4", "\n\n"])
def test_unknown_is_none(text: str) -> None:
    assert file_system_of(Path("/srv"), text) is None


def test_links_are_followed_to_where_the_files_will_lie(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/srv/data")
    (tmp_path / "loop").symlink_to("loop")
    assert file_system_of(tmp_path / "link" / "x", MOUNTINFO) == "nfs4"
    assert file_system_of(tmp_path / "loop" / "x", MOUNTINFO) == "ext4"


def test_this_machine_has_an_answer_of_its_own(tmp_path: Path) -> None:
    assert file_system_of(Path("/proc/self")) in (None, "proc")
    assert file_system_of(tmp_path / "a" / "b") == file_system_of(tmp_path)


def test_the_list_of_mounts_is_read_once_for_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = [0]

    def mountinfo() -> str:
        read[0] += 1
        return MOUNTINFO

    monkeypatch.setattr("telafi.ledger.mounts._mountinfo", mountinfo)
    for name in ("ledger.db", "ledger.db.telafi", "ledger.db"):
        assert file_system_of(tmp_path / name) == "ext4"
        (tmp_path / name).touch()
    assert read == [1]
    assert mount_of(tmp_path) == Mount("/", "ext4")
    assert file_system_of(tmp_path / "ledger.db", "1 2 0:1 / / rw - nfs4 store:/x rw") == "nfs4"


def test_what_is_mounted_later_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {1: MOUNTINFO, 2: f"{MOUNTINFO}30 21 0:40 / {tmp_path} rw - nfs4 store:/export rw"}
    device = [1]
    monkeypatch.setattr("telafi.ledger.mounts._device_of", lambda _: device[0])
    monkeypatch.setattr("telafi.ledger.mounts._mountinfo", lambda: texts[device[0]])
    assert file_system_of(tmp_path / "ledger.db") == "ext4"
    device[0] = 2
    assert file_system_of(tmp_path / "ledger.db") == "nfs4"


def test_a_place_that_cannot_be_looked_at_is_asked_about_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    texts = [MOUNTINFO, MOUNTINFO]
    monkeypatch.setattr("telafi.ledger.mounts._mountinfo", texts.pop)
    assert [file_system_of(tmp_path / "loop" / "x") for _ in range(2)] == ["ext4", "ext4"]
    assert texts == []


@pytest.mark.parametrize("file_system", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "virtiofs", "fuse.s3fs"])
def test_T2_14_F03_network_file_systems_are_refused(tmp_path: Path, file_system: str) -> None:
    # The other half of the case, a probe that gives up after five seconds, belongs to the start-up checks.
    mountinfo = f"21 1 254:0 / / rw - ext4 /dev/vda rw\n30 21 0:40 / {tmp_path} rw - {file_system} store:/export rw"
    place = tmp_path / "telafi"
    with pytest.raises(LockPlaceError) as refused:
        prepare(place, mountinfo=mountinfo)
    for part in (str(place), f"mounted at {tmp_path})", file_system, "local disk", "Telafi(url, place=...)"):
        assert part in str(refused.value)
    assert not place.exists()
    assert prepare(place, allow_network=True, mountinfo=mountinfo)


@pytest.mark.parametrize(
    "file_system", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuseblk", "fuse.fuse-overlayfs"]
)
def test_T2_14_local_file_systems_are_fine(tmp_path: Path, file_system: str) -> None:
    assert not is_network(file_system)
    assert prepare(tmp_path / "telafi", mountinfo=f"21 1 254:0 / / rw - {file_system} /dev/vda rw")
