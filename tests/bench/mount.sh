#!/usr/bin/env bash
# The benchmark of the mount: builds a release, measures, prints a table. --help lists the options.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "$0")")/mount_bench.py" "$@"
