"""What a script can read of a mount: .winnow/, and the attribute of each file."""
import json
import math
import os
import re
import time

import pytest

from processes import run, wait_until
from settings import PROJECT
from trees import assert_same, make_mixed_tree


@pytest.fixture
def mounted(source, mount):
    make_mixed_tree(source)
    return mount()


def test_dot_winnow_answers_to_its_name_and_is_not_listed(mounted):
    assert ".winnow" not in os.listdir(mounted.path)
    assert b".winnow" not in run(["ls", "-a", mounted.path]).stdout
    assert b".winnow" not in run(["find", mounted.path]).stdout
    assert (mounted / ".winnow").is_dir()
    assert {"status.json", "metrics", "exact"} <= set(os.listdir(mounted / ".winnow"))
    assert not (mounted / "a/.winnow").exists()


def test_the_status_is_json_with_facts(source, mounted):
    status = mounted.status()
    assert status["source"] == str(source) and status["mountpoint"] == str(mounted.path)
    assert status["snapshot"]["files"] == 209
    assert status["snapshot"]["folders"] >= 7
    assert status["snapshot"]["symlinks"] == 2
    assert abs(status["snapshot"]["taken_at"] - time.time()) < 300
    assert os.path.exists(f"/proc/{status['pid']}")
    assert status["requests_total"] == sum(status["requests"].values())


@pytest.mark.parametrize("name", ["status.json", "metrics"])
def test_size_and_mtime_of_a_generated_file_are_true_and_move(mounted, name):
    path = mounted / ".winnow" / name
    previous = 0
    for _ in range(5):
        fd = os.open(path, os.O_RDONLY)
        try:
            found = os.fstat(fd)
            content = os.pread(fd, found.st_size + 4096, 0)
        finally:
            os.close(fd)
        assert len(content) == found.st_size > 0
        assert found.st_mtime_ns > previous
        previous = found.st_mtime_ns


@pytest.mark.parametrize("read", [
    lambda path: path.read_bytes(),
    lambda path: run(["cat", path]).stdout,
    lambda path: run(["dd", f"if={path}", "bs=100", "status=none"]).stdout,
    lambda path: run(["tail", "-c", "1000000", path]).stdout,
], ids=["python", "cat", "small steps", "tail"])
def test_every_program_reads_a_whole_current_status(mounted, read):
    path = mounted / ".winnow/status.json"
    uptime = [json.loads(read(path))["uptime_seconds"] for _ in range(15)]
    assert uptime == sorted(set(uptime)), "each read is newer than the one before"


def test_the_status_is_current_at_every_read(mounted):
    before = mounted.status()
    (mounted / "z/f00001").read_bytes()
    after = mounted.status()
    assert after["fetches"]["total"] == before["fetches"]["total"] + 1
    assert after["reads"]["misses"] == before["reads"]["misses"] + 1


def test_many_readers_of_the_status_each_get_whole_json(mounted):
    code = ("import json, sys\nfor _ in range(300):\n  json.load(open(sys.argv[1]))\n")
    run(["bash", "-c", 'for i in 1 2 3 4; do /usr/bin/python3 -c "$1" status.json & pids+=($!); done; '
         'for p in "${pids[@]}"; do wait $p || exit 1; done', "bash", code], cwd=mounted / ".winnow")


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)$')


def parse_metrics(text):
    """The Prometheus text format, strictly: HELP and TYPE once before the samples of a name, no sample twice."""
    types, helped, samples, closed = {}, set(), {}, set()
    current = None
    for line in text.splitlines():
        if not line:
            continue
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            if name != current:
                closed.add(current)
                assert name not in closed, f"samples of {name} are not together"
                current = name
            if word == "HELP":
                assert name not in helped and rest
                helped.add(name)
            else:
                assert word == "TYPE" and name not in types and rest in ("counter", "gauge")
                types[name] = rest
            continue
        match = SAMPLE.match(line)
        assert match, f"not a sample: {line!r}"
        name, labels, value = match[1], match[2] or "", float(match[4])
        assert name == current and name in types and name in helped
        assert (name, labels) not in samples and math.isfinite(value)
        assert (types[name] == "counter") == name.endswith("_total")
        samples[name, labels] = value
    return samples


def metrics_of(mounted):
    return parse_metrics((mounted / ".winnow/metrics").read_text())


def test_the_metrics_are_prometheus_text(mounted):
    samples = metrics_of(mounted)
    assert len(samples) > 20
    assert all(name.startswith("winnow_") for name, _ in samples)
    assert samples["winnow_snapshot_files", ""] == 209


def test_the_metrics_are_current_and_agree_with_the_status(mounted):
    before = metrics_of(mounted)
    for i in range(10):
        (mounted / f"z/f{i:05d}").read_bytes()
    wait_until(lambda: mounted.status()["queued_notifications"] == 0, "pushes are done")
    after, status = metrics_of(mounted), mounted.status()
    assert after["winnow_fetches_total", ""] - before["winnow_fetches_total", ""] == 10
    assert after["winnow_fetched_bytes_total", ""] == status["fetches"]["bytes"]
    assert after["winnow_memory_budget_bytes", ""] == status["memory"]["budget_bytes"]
    assert after["winnow_page_cache_bytes", ""] == status["memory"]["page_cache_bytes"]
    assert after["winnow_fuse_requests_total", '{kind="read"}'] > before["winnow_fuse_requests_total", '{kind="read"}']


def test_every_metric_is_documented_in_the_header(mounted):
    header = (PROJECT / "fs/metrics.h").read_text()
    assert all(f'"{name}"' in header for name, _ in metrics_of(mounted))


def test_the_exact_tree_is_the_source(source, mounted):
    assert_same(source, mounted / ".winnow/exact")
    run(["diff", "-r", "--no-dereference", source, mounted / ".winnow/exact"])
    assert not (mounted / ".winnow/exact/.winnow").exists()


def test_the_exact_tree_shares_files_and_pages_with_the_mount(source, mounted):
    name = "z/f00005"
    assert os.path.samefile(mounted / name, mounted / ".winnow/exact" / name)
    (mounted / name).read_bytes()
    os.stat(mounted / ".winnow/exact" / name)
    cost = mounted.requests_of(lambda: (mounted / ".winnow/exact" / name).read_bytes())
    assert cost["read"] == 0, cost


def test_the_exact_tree_follows_a_refresh(source, mounted):
    exact = mounted / ".winnow/exact"
    assert_same(source, exact)
    assert not (exact / "new").exists()
    (source / "new").mkdir()
    (source / "new/file").write_text("new")
    (source / "z/f00001").unlink()
    (source / "z/f00002").write_text("changed")
    mounted.refresh()
    assert (exact / "new/file").read_text() == "new"
    assert_same(source, exact)


def test_a_change_noticed_in_the_mount_shows_in_the_exact_tree_too(source, mounted):
    exact = mounted / ".winnow/exact/z/f00003"
    exact.stat()
    (source / "z/f00003").write_text("changed")
    with pytest.raises(OSError):
        (mounted / "z/f00003").read_bytes()
    assert (mounted / "z/f00003").read_text() == "changed"
    try:
        assert exact.read_text() == "changed"
    except OSError:
        assert exact.read_text() == "changed"


def test_the_attribute_tells_of_a_file(mounted):
    path = mounted / "z/f00006"
    facts = json.loads(os.getxattr(path, "user.winnow"))
    assert facts["id"] == os.stat(path).st_ino
    assert facts["tier"] == "source"
    path.read_bytes()
    wait_until(lambda: json.loads(os.getxattr(path, "user.winnow"))["tier"] == "memory", "the tier moves")


def test_the_attribute_is_not_listed_and_no_other_is_there(mounted):
    path = mounted / "z/f00006"
    assert os.listxattr(path) == []
    assert run(["getfattr", "-d", "-m", "-", path], check=False).stdout == b""
    for name in ("user.other", "security.selinux", "system.posix_acl_access", "trusted.x"):
        with pytest.raises(OSError) as error:
            os.getxattr(path, name)
        assert error.value.errno in (61, 95), name  # ENODATA, or EOPNOTSUPP for ACLs
    with pytest.raises(OSError) as error:
        os.getxattr(path, "user.other")
    assert error.value.errno == 61


def test_getfattr_finds_the_attribute(mounted):
    done = run(["getfattr", "-n", "user.winnow", "--only-values", mounted / "z/f00006"])
    assert json.loads(done.stdout)["id"] > 0
