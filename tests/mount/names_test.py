"""Names and folders of every kind, and what a mount leaves out."""
import os
import socket
import stat

import pytest

from processes import run
from trees import assert_same, describe

ODD_NAMES = [
    b"with space", b"new\nline", b"tab\tand \\ back", b"quote'\"`$(x)", b"-rf", b"...", b"..a", b" ", b"*",
    "grüße-日本".encode(), b"latin1-\xe4\xf6\xfc", b"\xff\xfe\x80", b"\x01\x7f", b"x" * 255, b"\xff" * 255,
    b"UPPER", b"upper", b".hidden", b".winnow2",
]


def test_a_deeply_nested_file_is_found(source, mount):
    deep = source.joinpath(*[f"level{i}" for i in range(60)])
    deep.mkdir(parents=True)
    (deep / "leaf").write_text("down here")
    mounted = mount()
    assert mounted.path.joinpath(deep.relative_to(source), "leaf").read_text() == "down here"
    assert_same(source, mounted.path)


def test_names_of_any_bytes_are_shown_and_opened(source, mount):
    top = os.fsencode(source)
    for name in ODD_NAMES:
        os.mkdir(top + b"/folder " + name[:200])
        for path in (top + b"/" + name, top + b"/folder " + name[:200] + b"/" + name):
            with open(path, "wb") as file:
                file.write(name)
    mounted = mount()
    ours = os.fsencode(mounted.path)
    assert sorted(os.listdir(ours)) == sorted(os.listdir(top))
    for name in ODD_NAMES:
        with open(ours + b"/" + name, "rb") as file:
            assert file.read() == name
    assert_same(source, mounted.path)
    mounted.remount()
    assert_same(source, mounted.path)


def test_a_path_with_odd_bytes_can_be_source_and_mountpoint(place, mount):
    odd = place.root / "odd source\n, comma\\ \"q\""
    target = place.root / "odd mount\n, comma\\"
    odd.mkdir()
    target.mkdir()
    (odd / "file").write_text("here")
    mounted = mount(source=odd, mountpoint=target)
    assert (mounted / "file").read_text() == "here"
    mounted.unmount()


def test_a_name_longer_than_255_bytes_is_too_long(mount):
    with pytest.raises(OSError) as error:
        (mount() / ("y" * 256)).stat()
    assert error.value.errno == 36  # ENAMETOOLONG


def test_empty_files_and_folders_are_empty(source, mount):
    (source / "folder").mkdir()
    (source / "file").touch()
    mounted = mount()
    assert os.listdir(mounted / "folder") == []
    assert (mounted / "file").read_bytes() == b""
    assert (mounted / "file").stat().st_size == 0


def test_an_empty_source_is_an_empty_mount(mount):
    mounted = mount()
    assert os.listdir(mounted.path) == []
    assert mounted.status()["snapshot"]["files"] == 0


@pytest.mark.limit(120)
def test_a_folder_of_a_hundred_thousand_entries_is_listed_whole(source, mount):
    (source / "many").mkdir()
    for i in range(100_000):
        os.close(os.open(source / f"many/{i:06d}.jpg", os.O_CREAT | os.O_WRONLY))
    (source / "many/000777.jpg").write_text("not empty")
    mounted = mount()
    expected = {f"{i:06d}.jpg" for i in range(100_000)}
    for _ in range(2):  # from the daemon, then from the kernel's cache
        names = os.listdir(mounted / "many")
        assert len(names) == 100_000 and set(names) == expected
    inodes = {entry.inode() for entry in os.scandir(mounted / "many")}
    assert len(inodes) == 100_000
    assert (mounted / "many/000777.jpg").read_text() == "not empty"
    assert run(["find", mounted / "many", "-size", "+0", "-type", "f"]).stdout.count(b"\n") == 1


def test_a_listing_can_be_read_in_pieces_and_again(source, mount):
    for i in range(3000):
        (source / f"name-{i}-{'x' * (i % 90)}").touch()
    mounted = mount()
    with os.scandir(mounted.path) as first, os.scandir(mounted.path) as second:
        half = [next(first).name for _ in range(1500)]
        assert sorted(entry.name for entry in second) == sorted(os.listdir(source))
        assert sorted(half + [entry.name for entry in first]) == sorted(os.listdir(source))


def test_entries_tell_their_type_without_a_stat(source, mount):
    (source / "folder").mkdir()
    (source / "file").touch()
    (source / "link").symlink_to("file")
    types = {e.name: (e.is_file(follow_symlinks=False), e.is_dir(follow_symlinks=False), e.is_symlink())
             for e in os.scandir(mount().path)}
    assert types == {"file": (True, False, False), "folder": (False, True, False), "link": (False, False, True)}


def test_special_files_are_left_out_and_counted(source, mount):
    os.mkfifo(source / "fifo")
    os.mknod(source / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(source / "socket"))
    (source / "file").touch()
    mounted = mount()
    assert os.listdir(mounted.path) == ["file"]
    assert not (mounted / "fifo").exists()
    assert mounted.status()["snapshot"]["left_out"]["special"] == 3
    assert "3 names left out" in mounted.message
    assert b"3 special" in mounted.winnow("status", mounted.path).stdout


def test_a_source_with_a_dot_winnow_of_its_own_has_it_left_out_and_counted(source, mount):
    (source / ".winnow").mkdir()
    (source / ".winnow/status.json").write_text("theirs")
    (source / "folder").mkdir()
    (source / "folder/.winnow").write_text("below the top it is a name like any other")
    mounted = mount()
    assert mounted.status()["snapshot"]["left_out"]["reserved"] >= 1
    assert (mounted / "folder/.winnow").read_text().startswith("below")
    assert b".winnow" not in describe(mounted.path)


def test_a_missing_name_is_cached(source, mount):
    (source / "folder").mkdir()
    mounted = mount()
    for name in ("missing", "folder/missing"):
        assert not (mounted / name).exists()
    cost = mounted.requests_of(lambda: [(mounted / n).exists() for n in ("missing", "folder/missing")])
    assert cost["lookup"] == 0, cost


def test_wrong_kinds_give_the_usual_errors(source, mount):
    (source / "file").write_text("x")
    (source / "folder").mkdir()
    mounted = mount()
    with pytest.raises(NotADirectoryError):
        (mounted / "file/below").stat()
    with pytest.raises(NotADirectoryError):
        os.listdir(mounted / "file")
    with pytest.raises(IsADirectoryError):
        (mounted / "folder").read_bytes()
    with pytest.raises(FileNotFoundError):
        (mounted / "folder/none").read_bytes()
