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
  python3-torchvision libopenblas0-pthread attr rsync util-linux procps psmisc strace zstd rclone s3fs nghttp2-proxy \
  curl openssl python3-venv clang libclang-rt-14-dev

# build PRESET TARGET...: the tests of a new build are compiled together; what users build is compiled as they do.
build() {
  echo "== $1: building"
  local options=(-DWINNOW_TESTS=ON)
  [ -f "build/$1/CMakeCache.txt" ] || options+=(-DWINNOW_UNITY_TESTS=ON)
  build_winnow "$@" -- "${options[@]}"
}

# check PRESET SLOWDOWN [ctest options]: tests that mount run one at a time, or they would measure each other. They meet a
# busy machine's moods: what fails is run once more, and both outcomes are shown.
check() {
  local preset=$1 slowdown=$2
  shift 2
  echo "== $preset: testing"
  WINNOW_TEST_SLOWDOWN=$slowdown ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j 2 \
    --repeat until-pass:2 "$@"
  # What was not tested, and why: ctest itself shows nothing of tests that pass or skip.
  grep -hE "cannot be had|^skipped:|SKIPPED" "build/$preset/Testing/Temporary/LastTest.log" || true
}

began=$SECONDS
build release all
check release 1
if ! $quick; then
  build asan all
  check asan 4 -LE 'fuzz|stress'  # fuzzing has a sanitizer of its own
  build tsan winnow winnow_holder origin slowfs cache_test fs_test s3_test
  # Once: a race that shows every second time is one.
  ctest --test-dir build/tsan --output-on-failure --no-tests=error -j 2 -R '^unit\.(cache|fs|s3)_test$'
  check tsan 8 -L concurrent
fi
echo "== all passed in $((SECONDS - began)) s"
