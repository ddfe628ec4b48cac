#!/usr/bin/env bash
# Builds one fuzzer with clang and runs it for some seconds over its corpus; a crash is kept in WORK and fails.
# Usage: run.sh WORK SECONDS NAME "LINK OPTIONS" SOURCE...      (exit 77: cannot be run here, and why)
set -euo pipefail
work=$1 seconds=$2 name=$3 libraries=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
if ! command -v clang++ >/dev/null; then
  echo "skipped: clang++ is not installed, and libFuzzer comes with it (apt-get install clang)"
  exit 77
fi
mkdir -p "$work/$name"
program=$work/$name/fuzz
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  clang++ -fsanitize=fuzzer,address -x c++ - -o "$work/$name/probe" 2>/dev/null; then
  echo "skipped: this clang++ has no libFuzzer (apt-get install libclang-rt-14-dev)"
  exit 77
fi
# shellcheck disable=SC2086
clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I. \
  "tests/fuzz/${name}_fuzz.cpp" "$@" -o "$program" $libraries
# New inputs go to WORK; the corpus in the tree is only read.
mkdir -p "$work/$name/found"
"$program" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -error_exitcode=1 \
  -artifact_prefix="$work/$name/" "$work/$name/found" "tests/fuzz/corpus/$name" 2>&1 | tail -n 12
exit "${PIPESTATUS[0]}"
