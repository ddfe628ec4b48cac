#!/usr/bin/env bash
# Installs what is missing, builds a release and mounts:   bash deploy/up.sh SOURCE MOUNTPOINT [winnow mount options]
# Without arguments: makes a small image data set, mounts it, reads it twice and shows what that cost.
set -euo pipefail
if [ $# -eq 1 ] || [ "${1:-}" = --help ]; then
  echo "usage: bash deploy/up.sh [SOURCE MOUNTPOINT [winnow mount options]]" >&2
  exit 2
fi
# The arguments are relative to where the user stands; the build is not.
if [ $# -ge 2 ]; then
  source_path=$(realpath -m -- "$1")
  mountpoint=$(realpath -m -- "$2")
  shift 2
fi
cd "$(dirname "$0")/.."
. deploy/packages.sh
install_missing "${WINNOW_BUILD_PACKAGES[@]}"
[ -x build/release/fs/winnow ] || echo "building (some minutes the first time) ..."
options=()
[ -f build/release/CMakeCache.txt ] || options=(-- -DWINNOW_TESTS=OFF)
build_winnow release winnow winnow_policy_c "${options[@]}"
winnow=$PWD/build/release/fs/winnow

if [ -n "${source_path:-}" ]; then
  mkdir -p "$mountpoint"
  "$winnow" mount "$source_path" "$mountpoint" "$@"
  echo "unmount with: $winnow unmount $mountpoint"
  exit 0
fi

demo=$(mktemp -d)
trap '"$winnow" unmount "$demo/mnt" >/dev/null 2>&1 || true; rm -rf "$demo"' EXIT
mkdir "$demo/mnt"
python3 deploy/demo/make_images.py "$demo/images"
"$winnow" mount "$demo/images" "$demo/mnt" --state-dir "$demo/state"
python3 deploy/demo/two_epochs.py "$demo/mnt"
"$winnow" unmount "$demo/mnt"
