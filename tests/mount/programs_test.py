"""Ordinary programs, which know nothing of Winnow, see the source."""
import subprocess
import tarfile

import pytest

from processes import run
from trees import assert_same, make_mixed_tree

FIND = ["find", ".", "-printf", r"%P %y %m %s %U %G %T@ %l\n"]


@pytest.fixture
def mixed(source, mount):
    make_mixed_tree(source)
    return mount()


def test_find_prints_the_same_of_mount_and_source(source, mixed):
    listings = [sorted(run(FIND, cwd=folder).stdout.splitlines()) for folder in (source, mixed.path)]
    assert len(listings[0]) > 200
    assert listings[0] == listings[1]


def test_diff_finds_no_difference(source, mixed):
    assert run(["diff", "-r", "--no-dereference", source, mixed.path]).stdout == b""


def test_diff_finds_a_difference_where_there_is_one(source, mixed):
    (source / "z/f00007").write_bytes(b"something else, read from the source only")
    (mixed / "z/f00007").stat()
    done = run(["diff", "-rq", "--no-dereference", source, mixed.path], check=False)
    assert done.returncode != 0 and b"f00007" in done.stdout + done.stderr


def test_an_archive_made_through_the_mount_is_that_of_the_source(place, source, mixed):
    for name, folder in (("of-source", source), ("of-mount", mixed.path)):
        run(["tar", "--sort=name", "-cf", place.root / name, "-C", folder, "."])
    assert (place.root / "of-source").read_bytes() == (place.root / "of-mount").read_bytes()
    with tarfile.open(place.root / "of-mount") as archive:
        assert len(archive.getnames()) > 200


def test_rsync_by_checksum_has_nothing_to_transfer(source, mixed):
    done = run(["rsync", "-aHc", "--delete", "--dry-run", "--itemize-changes", f"{mixed.path}/", f"{source}/"])
    assert done.stdout == b""


def test_a_copy_by_rsync_equals_the_source(place, source, mixed):
    run(["rsync", "-aH", f"{mixed.path}/", f"{place.root}/copy/"])
    assert_same(source, place.root / "copy")


def test_cp_and_cmp_agree(place, source, mixed):
    run(["cp", "-a", mixed.path, place.root / "copy"])
    assert_same(source, place.root / "copy")
    run(["cmp", source / "a/b/size-3000001", mixed / "a/b/size-3000001"])


def test_python_walks_and_reads_everything(source, mixed):
    assert_same(source, mixed.path)


def test_checksums_by_many_processes_at_once_are_right(source, mixed):
    script = "find . -type f -print0 | sort -z | xargs -0 -P8 -n4 sha256sum | sort"
    sums = [run(["bash", "-c", script], cwd=folder).stdout for folder in (source, mixed.path, mixed.path)]
    assert sums[0].count(b"\n") > 200
    assert sums[0] == sums[1] == sums[2]


IMAGE_FOLDER = """
import sys
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

data = ImageFolder(sys.argv[1], Compose([Resize((32, 32)), ToTensor()]))
loader = DataLoader(data, batch_size=32, num_workers=2)
for epoch in range(2):
    seen, total = 0, 0.0
    for images, labels in loader:
        seen += len(labels)
        total += images.double().sum().item() + labels.sum().item()
    print(data.classes, seen, total)
"""


@pytest.mark.limit(240)
def test_image_folder_with_two_workers_sees_the_same_pictures(flowers, mount):
    if run(["/usr/bin/python3", "-c", "import torchvision"], check=False).returncode != 0:
        pytest.skip("torchvision is not installed (python3-torchvision)")
    mounted = mount(source=flowers)
    folder = "test" if (flowers / "test").is_dir() else "train"
    printed = [
        run(["/usr/bin/python3", "-c", IMAGE_FOLDER, top / folder], timeout=200).stdout.splitlines()
        for top in (mounted.path, flowers)
    ]
    assert printed[0] == printed[1]
    assert printed[0][0] == printed[0][1], "two epochs over the same pictures differ"


def test_a_reader_that_is_killed_in_the_middle_leaves_the_mount_well(source, mixed):
    for _ in range(5):
        reader = subprocess.Popen(["sha256sum", *(mixed / "a/b").iterdir()], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        reader.kill()
        reader.wait()
    assert_same(source, mixed.path)
