"""Making folders full of files, and telling whether two of them are the same."""
import hashlib
import os
import random
import stat
import tarfile

from settings import SHARED_DATA


def some_bytes(size, seed=0):
    return random.Random(seed).randbytes(size)


def make_files(folder, count, size, prefix="f"):
    """`count` files of `size` bytes (a number, or a range to draw from), each with its own content."""
    draw = random.Random(count)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i in range(count):
        length = size if isinstance(size, int) else draw.randint(*size)
        path = folder / f"{prefix}{i:05d}"
        path.write_bytes(some_bytes(length, seed=i))
        paths.append(path)
    return paths


def make_mixed_tree(folder):
    """Nested, empty, odd-sized, linked: one of everything a data set may hold."""
    for depth in ("a", "a/b", "a/b/c", "a/b/c/d", "empty", "z"):
        (folder / depth).mkdir()
    for i, size in enumerate((0, 1, 4095, 4096, 4097, 65536, 131073, 1 << 20, 3_000_001)):
        (folder / f"a/b/size-{size}").write_bytes(some_bytes(size, seed=i))
        (folder / f"a/b/size-{size}").chmod(0o600 + i * 8)
    make_files(folder / "z", 200, (1500, 3500))
    (folder / "a/link").symlink_to("b/size-4096")
    (folder / "a/dangling").symlink_to("nowhere/at all")
    os.link(folder / "z/f00000", folder / "a/b/c/d/second name")
    # Times long past and of every second: rsync leaves a folder's time alone when the second is right.
    for i, path in enumerate([*sorted(folder.rglob("*")), folder]):
        os.utime(path, ns=(0, 1_234_567_890_123_456_789 + i * 1_000_000_007), follow_symlinks=False)


def unpack_flowers(folder):
    archive = SHARED_DATA / "flower-photos-900.tar"
    if archive.exists():
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
    else:
        _draw_pictures(folder / "train")


def _draw_pictures(folder):
    from PIL import Image  # comes with torchvision

    for label in ("daisy", "roses", "tulips"):
        (folder / label).mkdir(parents=True)
        for i in range(40):
            noise = Image.frombytes("RGB", (64, 48), some_bytes(64 * 48 * 3, seed=i))
            noise.resize((320, 240)).save(folder / label / f"{i}.jpg")


def describe(folder, contents=True):
    """What can be seen of a tree, by path: type and mode, owner, size, times, links, content or target."""
    top = os.fsencode(folder)
    seen = {}
    for path, folders, files in os.walk(top):
        for name in folders + files + [b"."]:
            full = os.path.join(path, name)
            seen[os.path.relpath(full, top)] = _describe_one(full, contents)
    return seen


def _describe_one(path, contents):
    found = os.lstat(path)
    facts = {"mode": stat.filemode(found.st_mode), "uid": found.st_uid, "gid": found.st_gid,
             "mtime": found.st_mtime_ns}
    if stat.S_ISLNK(found.st_mode):
        facts["target"] = os.readlink(path)
    if stat.S_ISREG(found.st_mode):
        facts.update(size=found.st_size, links=found.st_nlink)
        if contents:
            with open(path, "rb") as file:
                facts["content"] = hashlib.sha1(file.read()).hexdigest()
    return facts


def assert_same(source, mounted, contents=True):
    """Tells the names that differ, not two pages of dictionaries."""
    ours, theirs = describe(mounted, contents), describe(source, contents)
    different = {name: (theirs.get(name), ours.get(name))
                 for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    assert not different, f"(source, mount) differ: {dict(list(different.items())[:3])}"
