#!/usr/bin/env bash
# Creates a Python environment for tests once, and prints the path of its interpreter as the
# last line.
#
#   hack/venv.sh epics      a real IOC (EPICS base, PVXS) and independent clients
#   hack/venv.sh clients    clients of the EPICS Archiver Appliance, pandas, polars, DuckDB
#   hack/venv.sh duckdb     DuckDB with its extension httpfs
#   hack/venv.sh codecs     columnar codecs, for comparison with ours
#
# hack/python/NAME.txt lists its packages. The environment is kept outside the tree, in
# ${VARVE_CACHE:-$XDG_CACHE_HOME/varve}. Its name contains a hash of that list and of Python's
# version. Several callers can run at the same time.
set -euo pipefail

name=${1:?usage: hack/venv.sh NAME}
packages=$(dirname "$0")/python/$name.txt
[[ -r $packages ]] || { echo "venv.sh: $packages does not exist" >&2; exit 2; }

hash=$(python3 --version | cat - "$packages" | sha256sum | cut -c1-12)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
dir=$cache/$name-$hash

if [[ ! -e $dir/complete ]]; then
  mkdir -p "$cache"
  exec 9>"$dir.lock"
  flock 9
  if [[ ! -e $dir/complete ]]; then # another caller may have created it in the meantime
    echo "installing the Python environment $name" >&2
    python3 -m venv --clear "$dir" >&2
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$packages" >&2
    touch "$dir/complete"
  fi
fi
echo "$dir/bin/python"
