"""`pip install ./agents/python` without a network, and what is said where the library is missing."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import venv

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "agents" / "python"
CHECK = "import winnow; assert len(winnow.Sampler(5, 'uniform')) == 5; print(winnow.library_path())"


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in ("WINNOW_POLICY_LIB", "PYTHONPATH")}
    return {**kept, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more}


class Install(unittest.TestCase):
    def test_pip_installs_a_package_that_finds_its_own_library(self):
        with tempfile.TemporaryDirectory() as folder:
            try:
                venv.create(folder, with_pip=True)
            except subprocess.CalledProcessError:
                self.skipTest("this Python cannot make an environment with pip (Debian: python3-venv)")
            python = pathlib.Path(folder) / "bin" / "python"
            library = os.environ["WINNOW_POLICY_LIB"]
            subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True,
                           env=clean_environment(WINNOW_POLICY_LIB=library))
            done = subprocess.run([python, "-c", CHECK], cwd=folder, env=clean_environment(), check=True,
                                  capture_output=True, text=True)
            self.assertTrue(done.stdout.strip().startswith(folder), done.stdout)

    def test_a_missing_library_is_explained(self):
        done = subprocess.run([sys.executable, "-c", "import winnow"], capture_output=True, text=True,
                              env=clean_environment(PYTHONPATH=str(PACKAGE), WINNOW_POLICY_LIB="/nonexistent/lib.so"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("the policy library could not be loaded from /nonexistent/lib.so", done.stderr)
        self.assertIn("pip install ./agents/python", done.stderr)


if __name__ == "__main__":
    unittest.main()
