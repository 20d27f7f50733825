#!/usr/bin/env bash
# Makes the Python environment with a real EPICS IOC and independent clients that
# tests need, once, and prints the path of its interpreter as the last line.
#
#   hack/epics.sh
#
# It is kept outside the tree, in ${VARVE_CACHE:-$XDG_CACHE_HOME/varve}, under a name
# made of the versions below and Python's. Callers may run at the same time.
set -euo pipefail

packages=(
  epicscorelibs==7.0.10.99.0.2 pvxslibs==1.5.3 # EPICS base and PVXS: the IOC
  p4p==4.3.0 caproto==1.3.0 pyepics==3.5.10    # clients
  numpy==2.4.6
)

version=$(python3 --version)
hash=$(printf '%s\n' "$version" "${packages[@]}" | sha256sum | cut -c1-12)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
dir=$cache/epics-$hash

if [[ ! -e $dir/complete ]]; then
  mkdir -p "$cache"
  exec 9>"$dir.lock"
  flock 9
  if [[ ! -e $dir/complete ]]; then # another caller may have made it meanwhile
    echo "installing ${packages[*]}" >&2
    python3 -m venv --clear "$dir" >&2
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" >&2
    touch "$dir/complete"
  fi
fi
echo "$dir/bin/python"
