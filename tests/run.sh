#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: all of them in a release build and under ASan+UBSan, the
# concurrent ones also under TSan.   bash tests/run.sh [--quick]   (--quick: the release build only)
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/packages.sh
quick=false
case "${1:-}" in
  "") ;;
  --quick) quick=true ;;
  *) echo "usage: bash tests/run.sh [--quick]" >&2; exit 2 ;;
esac
install_missing "${WINNOW_BUILD_PACKAGES[@]}" libgtest-dev libbenchmark-dev python3-pytest python3-pytest-timeout \
  python3-torchvision libopenblas0-pthread attr rsync util-linux procps psmisc strace zstd

# run PRESET SLOWDOWN [ctest options]: builds the preset and runs its tests. Tests that mount run one at a time,
# or they would measure each other.
run() {
  local preset=$1 slowdown=$2
  shift 2
  echo "== $preset: building"
  build_winnow "$preset" all -- -DWINNOW_TESTS=ON
  echo "== $preset: testing"
  WINNOW_TEST_SLOWDOWN=$slowdown ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j 2 "$@"
}

began=$SECONDS
run release 1
if ! $quick; then
  run asan 4
  run tsan 8 -L 'unit|concurrent'
fi
echo "== all passed in $((SECONDS - began)) s"
