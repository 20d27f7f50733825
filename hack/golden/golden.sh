#!/usr/bin/env bash
# Makes the golden archive of a release: test/compat/testdata/RELEASE.
#
#   golden.sh RELEASE COMMIT
#
# It builds hack/golden in a checkout of the commit, so that the code of the release writes the archive. If
# the commit has no hack/golden yet, the one of this checkout is used.
set -euo pipefail
cd "$(dirname "$0")/../.."

[[ $# -eq 2 ]] || { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }
release=$1
commit=$(git rev-parse "$2^{commit}")
to=$PWD/test/compat/testdata/$release
mkdir -p "$to"

work=$(mktemp -d)
export CASSANDRA_DIR=$work/cassandra
mkdir "$CASSANDRA_DIR"
clean_up() {
  hack/cassandra/cassandra.sh kill 1 || true
  git worktree remove --force "$work/checkout" || true
  rm -rf "$work"
}
trap clean_up EXIT

# free_ports prints a number of free ports.
free_ports() {
  python3 - "$1" <<'END'
import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in held))
END
}

git worktree add --quiet --detach "$work/checkout" "$commit"
if [[ ! -d $work/checkout/hack/golden ]]; then
  mkdir -p "$work/checkout/test/compat"
  cp -r hack/golden "$work/checkout/hack/"
  cp -r test/compat/golden "$work/checkout/test/compat/"
fi
(cd "$work/checkout" && go build -o "$work/golden" ./hack/golden)
read -r CASSANDRA_PORT CASSANDRA_STORAGE_PORT CASSANDRA_JMX_PORT < <(free_ports 3)
export CASSANDRA_PORT CASSANDRA_STORAGE_PORT CASSANDRA_JMX_PORT
hack/cassandra/cassandra.sh start 1
hack/cassandra/cassandra.sh wait 1
"$work/golden" -to "$to" -release "$release" -commit "$commit" -cassandra "127.0.0.1:$CASSANDRA_PORT"
ls -l "$to"
