"""Random changes of the source, each followed by a refresh: the mount equals the source, files that were left
alone keep their ids, and no id is ever used again. The source itself is the reference model."""
import os
import random
import shutil
import stat

import pytest

from settings import LONG
from trees import assert_same, describe

ROUNDS = 400 if LONG else 40
SEEDS = range(1, 9) if LONG else (1, 2)


class RandomSource:
    """Changes a folder at random. Names are few, so that files, folders and links take each other's places."""

    NAMES = [b"a", b"b", b"c", b"dd", b"with space", b"\xff\xfe", b"n\nl", b"x" * 200]

    def __init__(self, top, seed):
        self.top, self.random = os.fsencode(top), random.Random(seed)

    def paths(self, wanted):
        found = []
        for folder, folders, files in os.walk(self.top):
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                if wanted(os.lstat(path).st_mode):
                    found.append(path)
        return sorted(found)

    def pick(self, wanted):
        paths = self.paths(wanted)
        return self.random.choice(paths) if paths else None

    def file(self):
        return self.pick(stat.S_ISREG)

    def folder(self):
        return self.random.choice([self.top, *self.paths(stat.S_ISDIR)])

    def new_path(self):
        return os.path.join(self.folder(), self.random.choice(self.NAMES))

    def free_path(self):
        path = self.new_path()
        return None if os.path.lexists(path) or path.count(b"/") > 40 else path

    def content(self):
        return self.random.randbytes(self.random.choice([0, 1, 100, 4096, 5000, 70_000, 300_000]))

    def write(self, path, mode):
        with open(path, mode) as file:
            file.write(self.content())

    def remove(self, path):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    # The operations: each returns whether there was something to do.

    def create(self):
        return (path := self.free_path()) and (self.write(path, "wb"), True)

    def rewrite(self):
        return (path := self.file()) and (self.write(path, "r+b"), True)

    def append(self):
        return (path := self.file()) and (self.write(path, "ab"), True)

    def replace(self):
        if not (path := self.file()):
            return False
        self.write(path + b"~", "wb")
        os.rename(path + b"~", path)
        return True

    def truncate(self):
        return (path := self.file()) and (os.truncate(path, self.random.randint(0, 6000)), True)

    def make_folder(self):
        return (path := self.free_path()) and (os.mkdir(path), True)

    def remove_any(self):
        return (path := self.pick(lambda mode: True)) and (self.remove(path), True)

    def rename(self):
        path, to = self.pick(lambda mode: True), self.free_path()
        if not path or not to or (to + b"/").startswith(path + b"/"):
            return False
        os.rename(path, to)
        return True

    def symlink(self):
        target = self.random.choice([b"a", b"../b", b"nowhere", b"/etc", b"."])
        return (path := self.free_path()) and (os.symlink(target, path), True)

    def hard_link(self):
        path, to = self.file(), self.free_path()
        return path and to and (os.link(path, to), True)

    def chmod(self):
        path = self.pick(lambda mode: not stat.S_ISLNK(mode))
        return path and (os.chmod(path, self.random.choice([0o755, 0o700, 0o644, 0o600])), True)

    def file_to_folder(self):
        if not (path := self.file()):
            return False
        os.unlink(path)
        os.mkdir(path)
        self.write(os.path.join(path, b"inside"), "wb")
        return True

    def folder_to_file(self):
        if not (path := self.pick(stat.S_ISDIR)):
            return False
        shutil.rmtree(path)
        self.write(path, "wb")
        return True

    def touch(self):
        return (path := self.file()) and (os.utime(path, (0, self.random.randint(0, 2_000_000_000))), True)

    OPERATIONS = [create] * 6 + [make_folder] * 4 + [rename] * 2 + [
        rewrite, append, replace, truncate, remove_any, symlink, hard_link, chmod, file_to_folder, folder_to_file,
        touch]

    def change(self):
        """One operation that did something; its name."""
        while True:
            operation = self.random.choice(self.OPERATIONS)
            if operation(self):
                return operation.__name__


class Identities:
    """Ids seen so far, by the source's own identity of what carries them: inode and version."""

    def __init__(self, source, mounted):
        self.source, self.mounted = os.fsencode(source), os.fsencode(mounted)
        self.owner = {}  # id -> source inode and ctime of the file or folder it was given to
        self.files = {}  # path -> (facts of the source's file, id)

    def check(self):
        files = {}
        for path in describe(self.source, contents=False):
            theirs = os.lstat(os.path.join(self.source, path))
            ours = os.lstat(os.path.join(self.mounted, path)).st_ino
            if not stat.S_ISREG(theirs.st_mode):
                continue
            version = (theirs.st_ino, theirs.st_ctime_ns)
            assert self.owner.setdefault(ours, version) == version, f"id {ours} of {path} was another file's"
            files[path] = (version, ours)
            if path in self.files and self.files[path][0] == version:
                assert self.files[path][1] == ours, f"{path} did not change, but its id did"
        self.files = files


@pytest.mark.limit(600 if LONG else 60)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_mount_equals_the_source_after_every_change_and_refresh(source, mount, seed):
    model = RandomSource(source, seed)
    for _ in range(30):
        model.change()
    mounted = mount()
    identities = Identities(source, mounted.path)
    done = []
    for round_number in range(ROUNDS):
        done.append([model.change() for _ in range(model.random.choice([1, 1, 1, 2, 5]))])
        if round_number % 10 == 9:
            mounted.remount()
        mounted.refresh()
        try:
            assert_same(source, mounted.path)
            identities.check()
            assert_same(source, mounted / ".winnow/exact")
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, round {round_number}, after {done[-3:]}: {error}") from None


@pytest.mark.limit(600 if LONG else 60)
@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_refresh_every_read_is_of_the_snapshot_or_stale_or_new(source, mount, seed):
    """Nobody refreshes: a file reads as the snapshot had it or as the source has it now, whole, or fails."""
    model = RandomSource(source, seed + 1000)
    for _ in range(60):
        model.change()
    mounted = mount("--memory", "1M")  # small, so that reads go to the source
    top = os.fsencode(source)
    history = {}  # path -> every content the source ever had under it
    for round_number in range(ROUNDS):
        for path in model.paths(stat.S_ISREG):
            with open(path, "rb") as file:
                history.setdefault(os.path.relpath(path, top), set()).add(file.read())
        read = 0
        for folder, _, files in os.walk(os.fsencode(mounted.path)):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if os.path.islink(path):
                        continue
                    with open(path, "rb") as file:
                        content = file.read()
                except OSError:
                    continue  # stale, or gone
                read += 1
                assert content in history[os.path.relpath(path, os.fsencode(mounted.path))], \
                    f"seed {seed}, round {round_number}: {path} has bytes the source never had"
        if round_number == 0:
            assert read == len(model.paths(stat.S_ISREG)) > 5
        model.change()
