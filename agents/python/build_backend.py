"""Builds the wheel of the `winnow` package with nothing but Python and, if need be, a C++ compiler.

The wheel carries the policy library. It is taken from WINNOW_POLICY_LIB if that is set; else from the project's
release build if that is up to date; else it is compiled from the policy sources with $CXX or c++.
"""
import base64
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME, VERSION = "winnow", "0.1.0"
INFO = f"{NAME}-{VERSION}.dist-info"
LIBRARY = "libwinnow-policy.so"
FLAGS = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-DNDEBUG"]


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    # Without this hook pip builds a whole wheel, compiler and all, only to read its metadata.
    folder = pathlib.Path(metadata_directory) / INFO
    folder.mkdir()
    (folder / "METADATA").write_text(_metadata())
    (folder / "WHEEL").write_text(_wheel_file())
    return INFO


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as scratch:
        files = {f"winnow/{path.name}": path.read_bytes() for path in _package_files()}
        files[f"winnow/{LIBRARY}"] = _library(pathlib.Path(scratch)).read_bytes()
    files[f"{INFO}/METADATA"] = _metadata().encode()
    files[f"{INFO}/WHEEL"] = _wheel_file().encode()
    files[f"{INFO}/RECORD"] = _record(files, f"{INFO}/RECORD").encode()
    wheel = f"{NAME}-{VERSION}-{_tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    root = f"{NAME}-{VERSION}"
    with tarfile.open(pathlib.Path(sdist_directory) / f"{root}.tar.gz", "w:gz") as archive:
        for path in [HERE / "pyproject.toml", HERE / "build_backend.py", *_package_files()]:
            archive.add(path, f"{root}/{path.relative_to(HERE)}")
        for path in _policy_sources():
            archive.add(path, f"{root}/policy/{path.name}")
    return f"{root}.tar.gz"


def _package_files():
    return sorted(path for path in (HERE / "winnow").iterdir() if path.suffix == ".py" or path.name == "py.typed")


def _tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _wheel_file():
    return f"Wheel-Version: 1.0\nGenerator: winnow\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def _metadata():
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\nRequires-Python: >=3.9\n"
            "Summary: Winnow's sampling policies for training loops\nLicense: Apache-2.0\n")


def _record(files, own_name):
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own_name},,", ""])


def _policy_folder():
    for folder in (HERE / "policy", HERE.parent.parent / "policy"):
        if (folder / "winnow_policy.h").exists():
            return folder
    raise RuntimeError("policy sources must be beside agents/ as in Winnow's repository, or WINNOW_POLICY_LIB must "
                       f"name a built {LIBRARY}; neither was found")


def _policy_sources():
    return sorted(path for path in _policy_folder().iterdir() if path.suffix in (".h", ".cpp", ".map"))


def _library(scratch):
    named = os.environ.get("WINNOW_POLICY_LIB")
    if named:
        return pathlib.Path(named)
    built = _policy_folder().parent / "build" / "release" / "policy" / LIBRARY
    if built.exists() and built.stat().st_mtime >= max(path.stat().st_mtime for path in _policy_sources()):
        return built
    return _compiled(scratch)


def _compiled(scratch):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        raise RuntimeError("a C++20 compiler must be installed (Debian: apt-get install g++), or WINNOW_POLICY_LIB must "
                           f"name a built {LIBRARY}; neither was found")
    folder = _policy_folder()
    sources = [path for path in _policy_sources() if path.suffix == ".cpp"]

    def compile_one(source):
        target = scratch / (source.stem + ".o")
        subprocess.run([compiler, *FLAGS, f"-I{folder.parent}", "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    library = scratch / LIBRARY
    subprocess.run([compiler, "-shared", *objects, f"-Wl,--version-script={folder / 'winnow_policy.map'}",
                    "-Wl,-soname,libwinnow-policy.so.1", "-s", "-o", str(library)], check=True)
    return library
