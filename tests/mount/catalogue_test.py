"""The snapshot: saved, mapped on the next start, refreshed; node ids stay with their files."""
import os
import shutil

import pytest

from processes import wait_until
from trees import assert_same, make_mixed_tree


def inodes(folder):
    """Node id of every path."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            full = os.path.join(path, name)
            found[os.path.relpath(full, folder)] = os.lstat(full).st_ino
    return found


@pytest.fixture
def mounted(source, mount):
    make_mixed_tree(source)
    return mount()


def test_a_new_mount_scans_and_the_next_uses_the_saved_snapshot(source, mounted):
    assert "snapshot" not in mounted.message
    taken_at = mounted.status()["snapshot"]["taken_at"]
    (source / "added after the scan").touch()
    mounted.remount()
    assert "as of a snapshot" in mounted.message and "winnow refresh" in mounted.message
    assert mounted.status()["snapshot"]["taken_at"] == taken_at
    assert not (mounted / "added after the scan").exists()
    mounted.refresh()
    assert_same(source, mounted.path)


def test_ids_are_the_same_after_a_restart(mounted):
    before = inodes(mounted.path)
    assert len(set(before.values())) == len(before) - 1  # two names are one file
    mounted.remount()
    assert inodes(mounted.path) == before


def test_ids_of_unchanged_files_survive_refreshes_and_a_restart(source, mounted):
    before = inodes(mounted.path)
    (source / "a/0-first").write_text("sorts before all others")
    shutil.rmtree(source / "a/b/c")
    mounted.refresh()
    mounted.remount()
    after = inodes(mounted.path)
    kept = before.keys() & after.keys() - {"z/f00000"}  # lost its second name, so its ctime moved
    assert len(kept) > 200
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_ids_are_never_used_again(source, mounted):
    used = set(inodes(mounted.path).values())
    for round_number in range(3):
        shutil.rmtree(source / "z")
        (source / "z").mkdir()
        for i in range(50):
            (source / f"z/round{round_number}-{i}").write_text("x")
        mounted.refresh()
        if round_number == 1:
            mounted.remount()
        fresh = {i for path, i in inodes(mounted.path).items() if path.startswith(f"z/round{round_number}")}
        assert len(fresh) == 50
        assert not fresh & used, "an id was given twice"
        used |= fresh


def test_a_removed_file_that_comes_back_is_another_file(source, mounted):
    first = os.stat(mounted / "z/f00001").st_ino
    content = (source / "z/f00001").read_bytes()
    (source / "z/f00001").unlink()
    mounted.refresh()
    (source / "z/f00001").write_bytes(content)
    mounted.refresh()
    assert os.stat(mounted / "z/f00001").st_ino != first
    assert (mounted / "z/f00001").read_bytes() == content


def test_refresh_shows_additions_at_once_also_to_cached_listings_and_missing_names(source, mounted):
    listed = os.listdir(mounted / "z")
    assert not (mounted / "z/new").exists() and not (mounted / "newfolder").exists()
    (source / "z/new").write_text("new")
    (source / "newfolder/below").mkdir(parents=True)
    (source / "newfolder/below/file").write_text("deep")
    assert mounted.refresh()["added"] == 4
    assert (mounted / "z/new").read_text() == "new"
    assert sorted(os.listdir(mounted / "z")) == sorted([*listed, "new"])
    assert (mounted / "newfolder/below/file").read_text() == "deep"
    assert_same(source, mounted.path)


def test_refresh_shows_removals_at_once(source, mounted):
    os.listdir(mounted / "z")
    (mounted / "z/f00003").read_bytes()
    (source / "z/f00003").unlink()
    shutil.rmtree(source / "a/b")
    result = mounted.refresh()
    assert result["removed"] >= 12
    assert not (mounted / "z/f00003").exists()
    assert not (mounted / "a/b").exists()
    assert "f00003" not in os.listdir(mounted / "z")
    assert_same(source, mounted.path)


def test_refresh_shows_changes_at_once(source, mounted):
    (mounted / "z/f00004").read_bytes()
    (source / "z/f00004").write_bytes(b"new content of another length")
    (source / "z/f00005").chmod(0o640)
    (source / "a/link").unlink()
    (source / "a/link").symlink_to("b/size-1")
    assert mounted.refresh()["changed"] >= 1
    assert (mounted / "z/f00004").read_bytes() == b"new content of another length"
    assert_same(source, mounted.path)


def test_a_refresh_of_an_unchanged_source_changes_nothing_and_keeps_the_pages(source, mounted):
    assert_same(source, mounted.path)
    before = inodes(mounted.path)
    result = mounted.refresh()
    assert (result["added"], result["removed"], result["changed"]) == (0, 0, 0)
    assert inodes(mounted.path) == before
    cost = mounted.requests_of(lambda: [path.read_bytes() for path in sorted((mounted / "z").iterdir())])
    assert cost["read"] == 0, cost


def test_a_renamed_file_and_folder_are_found_under_their_new_names(source, mounted):
    (source / "a/b").rename(source / "moved")
    (source / "z/f00009").rename(source / "z/renamed")
    mounted.refresh()
    assert_same(source, mounted.path)


def test_a_file_may_become_a_folder_and_the_other_way_round(source, mounted):
    (mounted / "z/f00010").read_bytes()
    os.listdir(mounted / "a/b/c")
    (source / "z/f00010").unlink()
    (source / "z/f00010").mkdir()
    (source / "z/f00010/inside").write_text("inside")
    shutil.rmtree(source / "a/b/c")
    (source / "a/b/c").write_text("a file now")
    mounted.refresh()
    assert (mounted / "z/f00010/inside").read_text() == "inside"
    assert (mounted / "a/b/c").read_text() == "a file now"
    assert_same(source, mounted.path)


def test_refresh_by_the_clock_brings_changes_in(source, mount):
    mounted = mount("--refresh", "1s")
    assert os.listdir(mounted.path) == []
    (source / "new").write_text("new")
    wait_until(lambda: os.listdir(mounted.path) == ["new"], "the new name appears by itself")
    (source / "new").unlink()
    wait_until(lambda: os.listdir(mounted.path) == [], "the name goes by itself")
    assert mounted.status()["snapshot"]["refreshes"] >= 2


def test_a_change_noticed_by_a_read_is_remembered_over_a_restart(source, mounted):
    before = os.stat(mounted / "z/f00011").st_ino
    (source / "z/f00011").write_bytes(b"changed behind the snapshot")
    with pytest.raises(OSError):
        (mounted / "z/f00011").read_bytes()
    assert (mounted / "z/f00011").read_bytes() == b"changed behind the snapshot"
    noticed = os.stat(mounted / "z/f00011").st_ino
    assert noticed != before
    mounted.remount()
    assert os.stat(mounted / "z/f00011").st_ino == noticed
    assert (mounted / "z/f00011").read_bytes() == b"changed behind the snapshot"
    mounted.refresh()
    assert os.stat(mounted / "z/f00011").st_ino == noticed
    assert_same(source, mounted.path)


def test_a_snapshot_made_with_other_link_rules_is_taken_anew(source, place, mount):
    (source / "file").write_text("x")
    (source / "link").symlink_to("file")
    mounted = mount()
    assert (mounted / "link").is_symlink()
    mounted.unmount()
    followed = mount("--follow-symlinks")
    assert not (followed / "link").is_symlink()
    assert (followed / "link").read_text() == "x"


def test_a_refresh_while_the_source_is_moved_away_loses_nothing(source, mounted):
    before = inodes(mounted.path)
    source.rename(source.parent / "away")
    done = mounted.winnow("refresh", mounted.path, check=False)
    (source.parent / "away").rename(source)
    # A source held open survives being renamed; one that is looked for by name fails. Both keep the tree.
    assert done.returncode in (0, 1)
    if done.returncode == 1:
        assert mounted.status()["snapshot"]["refresh_failures"] == 1
    assert inodes(mounted.path) == before
