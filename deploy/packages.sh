# Sourced by deploy/up.sh and tests/run.sh: installs the Debian packages that are missing, and nothing if none is.

WINNOW_BUILD_PACKAGES=(g++ cmake ninja-build pkg-config fuse3 libfuse3-dev libboost-dev libcli11-dev
  libcurl4-openssl-dev libexpat1-dev libssl-dev nlohmann-json3-dev libspdlog-dev liburing-dev libxxhash-dev prometheus-cpp-dev
  python3)

install_missing() {
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "missing packages: ${missing[*]}; install them as root (apt-get install ${missing[*]}) and run this again" >&2
      return 1
    }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -q && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "the packages above could not be installed; mend that and run this again" >&2
    return 1
  fi
  rm -f "$log"
}

# build_winnow PRESET TARGET... [-- CMAKE_OPTION...]: quiet unless it fails.
build_winnow() {
  local preset=$1 targets=() options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
  [ $# -gt 0 ] && shift && options=("$@")
  local log
  log=$(mktemp)
  if ! { cmake --preset "$preset" "${options[@]}" && cmake --build "build/$preset" --target "${targets[@]}"; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    echo "building $preset failed; the lines above say why" >&2
    return 1
  fi
  rm -f "$log"
}
