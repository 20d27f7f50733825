#!/usr/bin/env bash
# Runs `go test` with the real servers that tests share.
#
#   hack/test.sh [FLAG...] PACKAGE...
#   hack/test.sh -run Seal -v ./engine/seal
#
# It starts one Cassandra for all packages, in which each test has its own keyspace. It builds the
# program once for all tests that run it, and passes the paths of kube-apiserver and etcd to the
# tests. It skips each of these steps if no package needs it.
#
# Environment:
#   PARALLEL               how many packages are tested at a time (4, because most of them wait
#                          for servers)
#   RACE                   if set, the tests run with the race detector, which makes them take several times as long
#   PLAIN                  packages, such as "./engine/block ./test/charts", that are tested without it
#                          nevertheless: one at a time, beside the other packages
#   NAMED                  beginning of a test's name: packages without such a test are left out
#   VARVE_TEST_CASSANDRA   HOST:PORT of a running node, which is used instead of a new one
#   VARVE_BIN              file of the built program, which is used instead of a new build
set -euo pipefail
cd "$(dirname "$0")/.."

flags=() packages=()
for argument; do
  if [[ $argument == ./* ]]; then packages+=("$argument"); else flags+=("$argument"); fi
done
[[ ${#packages[@]} -gt 0 ]] || packages=(./...)

# with_tests prints the packages of a list that have a test of that name. A package without one would
# still be built, linked and started.
with_tests() {
  local directory import
  go list -f '{{.Dir}} {{.ImportPath}}' "$@" | while read -r directory import; do
    if grep -qs "^func $NAMED" "$directory"/*_test.go; then echo "$import"; fi
  done
}

# The packages that the tests import.
imports=$(go list -f '{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}' "${packages[@]}" | sort -u)
needs() { grep -qx "$1" <<<"$imports"; }

if needs sigs.k8s.io/controller-runtime/pkg/envtest; then
  KUBEBUILDER_ASSETS=$(hack/cluster/cluster.sh assets | tail -n 1)
  export KUBEBUILDER_ASSETS
fi

# free_gib prints the smaller of two sizes in GiB: the free space in the file system of a
# directory, and the available memory.
free_gib() {
  local disk memory
  disk=$(df --output=avail -k "$1" | tail -n 1)
  memory=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
  echo $(((disk < memory ? disk : memory) / 1024 / 1024))
}

# free_ports prints a number of free ports. They are below the range from which the kernel chooses
# the ports of clients, so that no client takes one before Cassandra listens on it (see test/freeport).
free_ports() {
  python3 - "$1" <<'END'
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", random.randrange(10000, 32768)))
    except OSError:
        continue
    held.append(s)
print(*(s.getsockname()[1] for s in held))
END
}

# Tests write many small files, and wait until each file is on disk. If there is enough memory,
# their files are in memory instead. Programs stay on disk, because the file system in memory may
# not allow their execution.
export GOTMPDIR=${GOTMPDIR:-${TMPDIR:-/tmp}}
memory=/dev/shm
if [[ -z ${TMPDIR:-} && -w $memory && $(free_gib "$memory") -ge 8 ]]; then export TMPDIR=$memory; fi

directory=$(mktemp -d)
programs=$(mktemp -d -p "$GOTMPDIR")
server=() beside=
clean_up() {
  if [[ -n $beside ]]; then
    kill -- "-$beside" 2>/dev/null || true
    cat "$directory/plain" || true
  fi
  if [[ ${#server[@]} -gt 0 ]]; then "${server[@]}" kill 1 || true; fi
  rm -rf "$directory" "$programs"
}
trap clean_up EXIT

if needs varve.dev/varve/test/program && [[ -z ${VARVE_BIN:-} ]]; then
  chmod 755 "$programs" # one scenario runs the program as another user
  CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$programs/varve" ./cmd/varve
  export VARVE_BIN=$programs/varve
fi

if needs varve.dev/varve/test/cassandra && [[ -z ${VARVE_TEST_CASSANDRA:-} ]]; then
  CASSANDRA_DIR=$directory/cassandra
  mkdir "$CASSANDRA_DIR"
  read -r CASSANDRA_PORT CASSANDRA_STORAGE_PORT CASSANDRA_JMX_PORT < <(free_ports 3)
  # The process is too short-lived for the optimising compiler to pay off. It is never started again,
  # so it need not write its system tables to disk after each change of a schema.
  java_options="-XX:TieredStopAtLevel=1 -Dcassandra.unsafesystem=true"
  server=(env CASSANDRA_DIR="$CASSANDRA_DIR" CASSANDRA_PORT="$CASSANDRA_PORT"
    CASSANDRA_STORAGE_PORT="$CASSANDRA_STORAGE_PORT" CASSANDRA_JMX_PORT="$CASSANDRA_JMX_PORT"
    CASSANDRA_JAVA="$java_options" hack/cassandra/cassandra.sh)
  # The node starts while Go builds the tests. The first test that needs the node waits for it.
  "${server[@]}" start 1
  export VARVE_TEST_CASSANDRA=127.0.0.1:$CASSANDRA_PORT
fi

# longest_first sorts packages by how long their tests probably take, so that none of the longest runs alone at
# the end. The estimate is the size of the test code, times the number of kinds of servers that it starts. Of the
# packages that run rings of Cassandra nodes, only one is first, because two at a time need too much memory.
longest_first() {
  local package directory imports bytes servers ring
  go list -f '{{.ImportPath}} {{.Dir}} {{join .TestImports " "}} {{join .XTestImports " "}}' "$@" |
    while read -r package directory imports; do
      bytes=$(cat "$directory"/*_test.go 2>/dev/null | wc -c || true)
      servers=$(tr ' ' '\n' <<<"$imports" | grep -E '/envtest$|/test/(cassandra|epics|program)$' | sort -u | wc -l || true)
      ring=$(cat "$directory"/*_test.go 2>/dev/null | grep -c 'cassandra\.StartRing(' || true)
      echo "$((ring > 0)) $((bytes * (1 + servers))) $package"
    done | sort -k 1,1nr -k 2,2nr | awk '
      $1 == 1 && NR > 1 { later[++n] = $3; next }
      { line[++m] = $3 }
      END { for (i = 1; i <= m; i++) { print line[i]; if (i == int(m / 2) + 1) for (k = 1; k <= n; k++) print later[k] } }'
}

if [[ -n ${NAMED:-} ]]; then mapfile -t packages < <(with_tests "${packages[@]}"); fi
mapfile -t packages < <([[ ${#packages[@]} -eq 0 ]] || longest_first "${packages[@]}")
[[ ${#packages[@]} -gt 0 ]] || { echo "no package matches" >&2; exit 1; }
plain=()
if [[ -n ${RACE:-} && -n ${PLAIN:-} ]]; then
  read -r -a patterns <<<"$PLAIN"
  names=$(go list "${patterns[@]}")
  mapfile -t plain < <(printf '%s\n' "${packages[@]}" | grep -Fx "$names")
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep -vFx "$names")
fi

# At the end of each test program, the race detector waits for races of the last moment. It waits 100 ms
# here, instead of a second.
export GORACE=${GORACE:-atexit_sleep_ms=100}

# -trimpath makes the build cache independent of the checkout's path. `make lint` vets the code.
# Without symbol tables the test programs link faster.
go_test=(go test -trimpath -vet=off -ldflags='-s -w' -timeout 45m "${flags[@]}")
if [[ ${#plain[@]} -gt 0 ]]; then
  # The job has its own process group, which clean_up can end.
  set -m
  CGO_ENABLED=0 "${go_test[@]}" -p 1 "${plain[@]}" >"$directory/plain" 2>&1 &
  beside=$!
  set +m
fi
# The race detector needs cgo. Without it, the tests use the packages that were compiled for the program.
cgo=0
if [[ -n ${RACE:-} ]]; then cgo=1 go_test+=(-race); fi
status=0
if [[ ${#packages[@]} -gt 0 ]]; then CGO_ENABLED=$cgo "${go_test[@]}" -p "${PARALLEL:-4}" "${packages[@]}" || status=$?; fi
if [[ -n $beside ]]; then
  wait "$beside" || status=$?
  beside=
  cat "$directory/plain"
fi
exit $status
