"""Symlinks, followed and not, and hard links."""
import os

import pytest

from trees import assert_same, describe


@pytest.fixture
def linked(place, source):
    """A source with links of every kind."""
    (source / "data/deep").mkdir(parents=True)
    (source / "data/file").write_text("content")
    (source / "data/deep/other").write_text("other content")
    (place.root / "outside").write_text("secret")
    (source / "relative").symlink_to("data/file")
    (source / "absolute").symlink_to(source / "data/file")
    (source / "folder").symlink_to("data")
    (source / "data/deep/up").symlink_to("../file")
    (source / "chain").symlink_to("relative")
    (source / "through").symlink_to("folder/deep/other")
    (source / "escape").symlink_to("../outside")
    (source / "escape-absolute").symlink_to(place.root / "outside")
    (source / "escape-and-return").symlink_to("../source/data/file")
    (source / "dangling").symlink_to("nowhere")
    (source / "self").symlink_to("self")
    (source / "ping").symlink_to("pong")
    (source / "pong").symlink_to("ping")
    (source / "data/deep/cycle").symlink_to("../../data")
    return source


def test_symlinks_are_shown_as_symlinks(linked, mount):
    mounted = mount()
    assert_same(linked, mounted.path)
    assert os.readlink(mounted / "absolute") == os.fspath(linked / "data/file")
    assert (mounted / "relative").read_text() == "content"
    assert (mounted / "folder/deep/up").read_text() == "content"


def test_a_symlinks_size_is_its_targets_length(linked, mount):
    assert os.lstat(mount() / "relative").st_size == len("data/file")


def test_followed_symlinks_inside_the_source_are_what_they_point_to(linked, mount):
    mounted = mount("--follow-symlinks")
    for name in ("relative", "absolute", "chain", "data/deep/up"):
        path = mounted / name
        assert not path.is_symlink()
        assert path.read_text() == "content", name
    assert (mounted / "through").read_text() == "other content"
    assert (mounted / "folder").is_dir() and not (mounted / "folder").is_symlink()
    assert (mounted / "folder/deep/other").read_text() == "other content"


@pytest.mark.parametrize("name", ["escape", "escape-absolute", "dangling", "self", "ping", "pong"])
def test_followed_symlinks_never_leave_the_source(linked, mount, name):
    mounted = mount("--follow-symlinks")
    with pytest.raises(OSError):
        (mounted / name).read_bytes()
    if os.path.lexists(mounted / name):
        assert not (mounted / name).is_file()


def test_links_that_cannot_be_followed_are_counted(linked, mount):
    mounted = mount("--follow-symlinks")
    assert mounted.status()["snapshot"]["left_out"]["links"] >= 6


def test_a_walk_over_followed_links_ends_and_shows_no_secret(linked, mount):
    mounted = mount("--follow-symlinks")
    seen = describe(mounted.path)
    assert len(seen) < 200
    assert all(b"cycle/deep/cycle/deep" not in path for path in seen)
    for path in seen:
        full = os.path.join(os.fsencode(mounted.path), path)
        if os.path.isfile(full):
            with open(full) as file:
                assert file.read() != "secret"


def test_a_followed_link_that_turns_outwards_after_the_snapshot_gives_nothing_away(place, linked, mount):
    mounted = mount("--follow-symlinks")
    (mounted / "relative").stat()
    (linked / "relative").unlink()
    (linked / "relative").symlink_to(place.root / "outside")
    with pytest.raises(OSError):
        (mounted / "relative").read_bytes()
    (linked / "data").rename(linked / "data.old")
    (place.root / "trap").mkdir()
    (place.root / "trap/file").write_text("secret!")
    (linked / "data").symlink_to(place.root / "trap")
    for _ in range(2):
        with pytest.raises(OSError):
            (mounted / "data/file").read_bytes()
    mounted.refresh()
    with pytest.raises(OSError):
        (mounted / "data/file").read_bytes()


def test_a_folder_turned_into_a_link_outwards_gives_nothing_away(place, linked, mount):
    mounted = mount()
    (mounted / "data/file").stat()
    (place.root / "trap").mkdir()
    (place.root / "trap/file").write_text("content")  # as long as the file it stands for
    (linked / "data").rename(linked / "data.old")
    (linked / "data").symlink_to(place.root / "trap")
    with pytest.raises(OSError):
        (mounted / "data/file").read_bytes()


def test_hard_links_are_one_file(source, mount):
    (source / "first").write_text("shared")
    (source / "folder").mkdir()
    os.link(source / "first", source / "folder/second")
    os.link(source / "first", source / "third")
    (source / "alone").write_text("shared")
    mounted = mount()
    stats = [os.stat(mounted / name) for name in ("first", "folder/second", "third", "alone")]
    assert len({found.st_ino for found in stats[:3]}) == 1
    assert stats[3].st_ino != stats[0].st_ino
    assert [found.st_nlink for found in stats] == [3, 3, 3, 1]
    assert os.path.samefile(mounted / "first", mounted / "third")
    assert_same(source, mounted.path)


def test_a_hard_link_read_by_one_name_is_cached_by_the_other(source, mount):
    (source / "first").write_bytes(b"x" * 5000)
    os.link(source / "first", source / "second")
    mounted = mount()
    os.listdir(mounted.path)
    (mounted / "first").read_bytes()
    cost = mounted.requests_of(lambda: (mounted / "second").read_bytes())
    assert cost["read"] == 0, cost
