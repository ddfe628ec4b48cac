"""The command line: options from words, files and variables, and what the commands print."""
import json
import os
import signal
import subprocess
import time

import pytest

from mounts import winnow
from processes import run
from settings import WINNOW
from trees import make_files

COMMANDS = ["mount", "unmount", "status", "refresh"]
MIB = 1 << 20


def test_version_is_a_line_with_a_number():
    done = winnow("--version")
    assert done.stdout.startswith(b"winnow ") and done.stdout.count(b"\n") == 1
    assert done.stdout.split()[1][:1].isdigit()


def test_help_names_every_command():
    text = winnow("--help").stdout.decode()
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    text = winnow(command, "--help").stdout.decode()
    assert "MOUNTPOINT" in text and "--help" in text


def test_the_help_of_mount_names_every_option_of_the_issue():
    text = winnow("mount", "--help").stdout.decode()
    for option in ("--foreground", "--state-dir", "--memory", "--track", "--refresh", "--source-timeout", "--uid",
                   "--follow-symlinks", "--allow-other", "--gid", "--umask", "--config"):
        assert option in text or option == "--config" and option in winnow("--help").stdout.decode(), option


@pytest.mark.parametrize("words", [
    [], ["nonsense"], ["mount"], ["mount", "only-a-source"], ["mount", "a", "b", "c"],
    ["mount", "a", "b", "--nonsense"],
    ["mount", "a", "b", "--memory", "lots"], ["mount", "a", "b", "--memory", "-5"],
    ["mount", "a", "b", "--track", "sometimes"], ["mount", "a", "b", "--refresh", "soon"],
    ["mount", "a", "b", "--source-timeout", "10 parsecs"], ["mount", "a", "b", "--uid", "root?"],
    ["mount", "a", "b", "--memory"], ["unmount"], ["unmount", "a", "--lazy", "--force"], ["refresh"],
    ["status", "--nonsense"],
], ids=lambda words: " ".join(words) or "nothing")
def test_a_usage_error_exits_with_2_and_says_something(place, words):
    done = winnow(*words, check=False, env=place.environment, cwd=place.root)
    assert done.returncode == 2, done
    assert done.stderr and b"terminate called" not in done.stderr
    assert b"nonsense" in done.stderr or "nonsense" not in " ".join(words)


@pytest.mark.parametrize("source", ["gs://bucket/x", "S3://bucket"])
def test_a_source_of_an_unknown_kind_is_no_missing_folder(place, source):
    done = winnow("mount", source, place.mountpoint, check=False, env=place.environment)
    assert done.returncode == 1 and b"is of no known kind; name a folder, or s3://" in done.stderr, done


def test_a_config_file_gives_options(place, source, mount):
    config = place.root / "winnow.toml"
    config.write_text('memory = "16M"\ntrack = "off"\n')
    status = mount("--config", str(config)).status()
    assert status["memory"]["budget_bytes"] == 16 * MIB
    assert status["tracking"]["mode"] == "off"


def test_a_config_file_may_have_a_section_for_a_command_and_all_kinds_of_values(place, source, mount):
    (source / "file").write_text("x")
    (source / "link").symlink_to("file")
    config = place.root / "winnow.toml"
    config.write_text('# for all machines\n[mount]\nmemory = "5%"\nfollow-symlinks = true\nuid = 1234\numask = "077"\n'
                      'source-timeout = "5s"\n')
    mounted = mount("--config", str(config))
    assert not (mounted / "link").is_symlink()
    assert (mounted / "file").stat().st_uid == 1234
    assert (mounted / "file").stat().st_mode & 0o077 == 0


def test_variables_give_options(place, mount):
    place.environment.update(WINNOW_MEMORY="24M", WINNOW_TRACK="open", WINNOW_UMASK="027", WINNOW_ALLOW_OTHER="false")
    mounted = mount()
    status = mounted.status()
    assert status["memory"]["budget_bytes"] == 24 * MIB
    assert status["tracking"]["mode"] == "open"
    assert mounted.path.stat().st_mode & 0o027 == 0
    with open("/proc/mounts") as table:
        [line] = [line for line in table if str(mounted.path) in line]
    assert "allow_other" not in line


def test_the_state_directory_comes_from_its_variable(place):
    place.environment["WINNOW_STATE_DIR"] = str(place.root / "from-variable")
    winnow("mount", place.source, place.mountpoint, env=place.environment)
    try:
        assert (place.root / "from-variable").is_dir()
    finally:
        winnow("unmount", place.mountpoint, env=place.environment)


def test_the_config_file_may_come_from_a_variable(place, mount):
    (place.root / "winnow.toml").write_text('memory = "32M"\n')
    place.environment["WINNOW_CONFIG"] = str(place.root / "winnow.toml")
    assert mount().status()["memory"]["budget_bytes"] == 32 * MIB


def test_words_win_over_variables_and_those_over_the_file(place, mount):
    config = place.root / "winnow.toml"
    config.write_text('memory = "16M"\ntrack = "open"\nrefresh = "1h"\n')
    place.environment.update(WINNOW_MEMORY="24M", WINNOW_TRACK="off")
    status = mount("--config", str(config), "--memory", "32M").status()
    assert status["memory"]["budget_bytes"] == 32 * MIB
    assert status["tracking"]["mode"] == "off"


@pytest.mark.parametrize("text,named", [
    ('memroy = "4G"\n', "memroy"), ('memory = "lots"\n', "lots"), ('track = "sometimes"\n', "sometimes"),
    ("[mount]\nnonsense = 3\n", "nonsense"), ('umask = "9"\n', "umask"),
], ids=lambda value: value.split()[0])
def test_a_wrong_line_of_the_config_file_is_named(place, text, named):
    (place.root / "winnow.toml").write_text(text)
    done = winnow("mount", place.source, place.mountpoint, "--state-dir", place.state, "--config",
                  place.root / "winnow.toml", check=False, env=place.environment)
    assert done.returncode in (1, 2)
    assert named in done.stderr.decode()
    assert not place.state.exists()


def test_a_missing_config_file_is_named(place):
    done = winnow("mount", place.source, place.mountpoint, "--config", place.root / "none.toml", check=False,
                  env=place.environment)
    assert done.returncode in (1, 2) and b"none.toml" in done.stderr


@pytest.mark.parametrize("variable,value", [("WINNOW_MEMORY", "lots"), ("WINNOW_TRACK", "sometimes")])
def test_a_wrong_variable_is_a_usage_error(place, variable, value):
    place.environment[variable] = value
    done = winnow("mount", place.source, place.mountpoint, "--state-dir", place.state, check=False,
                  env=place.environment)
    assert done.returncode == 2 and value in done.stderr.decode()
    assert not place.state.exists()


def test_status_prints_the_facts(source, mount):
    make_files(source, 7, 1000)
    mounted = mount()
    text = mounted.winnow("status", mounted.path).stdout.decode()
    assert str(mounted.path) in text and str(source) in text
    assert "7 files" in text and str(mounted.pid) in text


def test_status_as_json_is_the_status_file(mount):
    mounted = mount()
    printed = json.loads(mounted.winnow("status", "--json", mounted.path).stdout)
    assert printed.keys() == mounted.status().keys()
    assert printed["pid"] == mounted.pid


def test_status_without_a_mountpoint_tells_of_every_mount(place, mount):
    mounted = mount()
    other = place.root / "other"
    other.mkdir()
    second = mount(mountpoint=other, state=place.root / "other-state")
    every = json.loads(mounted.winnow("status", "--json").stdout)
    mine = {one["mountpoint"]: one for one in every if one["mountpoint"].startswith(str(place.root))}
    assert mine.keys() == {str(mounted.path), str(second.path)}
    assert str(other) in mounted.winnow("status").stdout.decode()


def test_status_of_a_path_below_the_mountpoint_finds_the_mount(source, mount):
    (source / "folder").mkdir()
    mounted = mount()
    assert json.loads(mounted.winnow("status", "--json", mounted / "folder").stdout)["pid"] == mounted.pid


def test_watch_shows_the_status_again_until_it_is_stopped(place, mount):
    mounted = mount()
    watching = subprocess.Popen([WINNOW, "status", "--watch", mounted.path], stdout=subprocess.PIPE,
                                env=place.environment, text=True)
    try:
        shown = 0
        while shown < 3:
            line = watching.stdout.readline()
            assert line, "the watch ended by itself"
            shown += line.strip() == str(mounted.path)
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=20)


def test_watch_ends_when_nobody_reads_on(place, mount):
    mounted = mount()
    began = time.monotonic()
    run(["bash", "-c", '"$0" status --watch "$1" | head -n 1', WINNOW, mounted.path], env=place.environment, timeout=20)
    assert time.monotonic() - began < 15


def test_refresh_prints_what_changed(source, mount):
    make_files(source, 3, 10)
    mounted = mount()
    (source / "f00000").unlink()
    (source / "new").write_text("new")
    (source / "f00001").write_text("other")
    text = mounted.winnow("refresh", mounted.path).stdout.decode()
    assert text == "1 added, 1 removed, 1 changed; 3 files\n"


def test_paths_may_be_relative(place, source):
    (source / "file").write_text("x")
    os.mkdir(place.root / "work")
    inside = {"env": place.environment, "cwd": place.root / "work"}
    winnow("mount", "../source", "../mnt", "--state-dir", "../state", **inside)
    try:
        assert (place.mountpoint / "file").read_text() == "x"
        assert place.state.is_dir()
        winnow("refresh", "../mnt", **inside)
    finally:
        winnow("unmount", "../mnt", **inside)


def test_an_ordinary_state_directory_is_private(place, mount):
    mount()
    assert place.state.stat().st_mode & 0o077 == 0
