#!/usr/bin/env bash
# The long form of the survival tests: 100 kills of the worker in one epoch, a kill in every call of its start-up, 20
# upgrades, ten epochs in a memory cgroup; prints the table of the README.   bash tests/mount/stress/survival.sh
set -euo pipefail
cd "$(dirname "$0")/.."
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
status=0
WINNOW_LONG=1 /usr/bin/python3 -B -m pytest -q -s survival_test.py upgrade_test.py cgroup_test.py "$@" | tee "$lines" || status=$?
echo
echo "== table"
grep '^|' "$lines" || true
exit "$status"
