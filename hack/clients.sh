#!/usr/bin/env bash
# Installs Python clients of the EPICS Archiver Appliance, once, and prints the
# path of a Python that has them.
#
#   $(hack/clients.sh) test/clients/testdata/read.py
#
# The environment is kept outside the tree, in ${VARVE_CACHE:-$XDG_CACHE_HOME/varve},
# in a directory named by what it holds. Callers may run at the same time.
set -euo pipefail

packages=(
  aapy==0.12
  pyarchappl==1.0.3.post3
  protobuf==3.20.3 # the generated code of both is older than protobuf 4
)

python=${PYTHON:-python3}
hash=$("$python" --version | cat - <(printf '%s\n' "${packages[@]}") | sha256sum | cut -c1-12)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
dir=$cache/clients-$hash

if [[ ! -e $dir/complete ]]; then
  mkdir -p "$cache"
  exec 9>"$dir.lock"
  flock 9
  if [[ ! -e $dir/complete ]]; then # another caller may have installed it meanwhile
    echo "installing ${packages[*]}" >&2
    rm -rf "$dir"
    "$python" -m venv "$dir" >&2
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" >&2
    touch "$dir/complete"
  fi
fi
echo "$dir/bin/python"
