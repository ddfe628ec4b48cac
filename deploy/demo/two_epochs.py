"""Runs the reading script twice over a mount and shows, from the mount's own counters, what each epoch cost."""

import json
import pathlib
import subprocess
import sys


def counters(mount):
    return json.loads((mount / ".winnow" / "status.json").read_text())


def main():
    mount = pathlib.Path(sys.argv[1])
    script = pathlib.Path(__file__).with_name("read_epoch.py")
    print(f"{'epoch':>5} {'images':>7} {'seconds':>8} {'hits':>6} {'misses':>7} {'requests/file':>14}   by kind")
    for epoch in (1, 2):
        before = counters(mount)
        out = subprocess.run([sys.executable, script, mount / "train", str(epoch)], check=True, capture_output=True, text=True)
        after = counters(mount)
        images, seconds = int(out.stdout.split()[0]), float(out.stdout.split()[1])
        # Looking at the counters costs a few requests itself; they are the same kinds for both looks.
        spent = {k: n - before["requests"].get(k, 0) for k, n in after["requests"].items()}
        spent = {k: n for k, n in spent.items() if n / images >= 0.005}
        misses = after["reads"]["misses"] - before["reads"]["misses"]
        kinds = ", ".join(f"{k} {n / images:.2f}" for k, n in sorted(spent.items())) or "none"
        print(
            f"{epoch:>5} {images:>7} {seconds:>8.3f} {images - misses:>6} {misses:>7} "
            f"{sum(spent.values()) / images:>14.2f}   {kinds}"
        )
    print("(ioctl: Python's open() asks each file whether it is a terminal; os.open does not)")


if __name__ == "__main__":
    main()
