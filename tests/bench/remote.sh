#!/usr/bin/env bash
# The benchmark of remote storage: Winnow, rclone and s3fs over the same slow origin. --help lists the options.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
. deploy/packages.sh
install_missing "${WINNOW_BUILD_PACKAGES[@]}" rclone s3fs
build_winnow release winnow winnow_holder origin -- -DWINNOW_TESTS=ON
exec python3 tests/bench/remote_bench.py "$@"
