#!/usr/bin/env bash
# The benchmark of the disk tier: builds a release and measures in a folder (default: a new one below /var/tmp).
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. deploy/packages.sh
install_missing "${WINNOW_BUILD_PACKAGES[@]}"
build_winnow release disk_bench -- -DWINNOW_TESTS=ON
folder=$(mktemp -d "${1:-/var/tmp}/winnow-disk-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
build/release/tests/bench/disk_bench "$folder" "${@:2}"
