#!/usr/bin/env bash
# Runs `go test -race` with the real servers that tests share.
#
#   hack/test.sh [FLAG...] PACKAGE...
#   hack/test.sh -run Seal -v ./engine/seal
#
# It starts one Cassandra for all packages (each test has a keyspace of its own), builds
# the program once for all tests that run it, and tells tests where the binaries of
# kube-apiserver and etcd are. It leaves out what no package needs.
#
# VARVE_TEST_CASSANDRA=HOST:PORT uses a node that runs already, and VARVE_BIN=FILE a program
# that is built already.
#
# Environment:
#   PARALLEL   packages to test side by side (4: most of them wait for servers)
set -euo pipefail
cd "$(dirname "$0")/.."

flags=() packages=()
for argument; do
  if [[ $argument == ./* ]]; then packages+=("$argument"); else flags+=("$argument"); fi
done
[[ ${#packages[@]} -gt 0 ]] || packages=(./...)

# The packages that the tests import.
imports=$(go list -f '{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}' "${packages[@]}" | sort -u)
needs() { grep -qx "$1" <<<"$imports"; }

if needs sigs.k8s.io/controller-runtime/pkg/envtest; then
  KUBEBUILDER_ASSETS=$(hack/cluster/cluster.sh assets | tail -n 1)
  export KUBEBUILDER_ASSETS
fi

# free_gib prints how many GiB can be written to the file system of a directory and are also
# free in memory.
free_gib() {
  local disk memory
  disk=$(df --output=avail -k "$1" | tail -n 1)
  memory=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
  echo $(((disk < memory ? disk : memory) / 1024 / 1024))
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Tests write many small files and wait for each to be on disk. Where there is enough memory,
# they write to it. Programs stay on disk: memory may not allow execution.
export GOTMPDIR=${GOTMPDIR:-${TMPDIR:-/tmp}}
memory=/dev/shm
if [[ -z ${TMPDIR:-} && -w $memory && $(free_gib "$memory") -ge 8 ]]; then export TMPDIR=$memory; fi

directory=$(mktemp -d)
programs=$(mktemp -d -p "$GOTMPDIR")
trap 'rm -rf "$directory" "$programs"' EXIT

if needs varve.dev/varve/test/program && [[ -z ${VARVE_BIN:-} ]]; then
  chmod 755 "$programs" # one scenario runs the program as another user
  CGO_ENABLED=0 go build -trimpath -o "$programs/varve" ./cmd/varve
  export VARVE_BIN=$programs/varve
fi

if needs varve.dev/varve/test/cassandra && [[ -z ${VARVE_TEST_CASSANDRA:-} ]]; then
  CASSANDRA_DIR=$directory/cassandra
  mkdir "$CASSANDRA_DIR"
  CASSANDRA_PORT=$(free_port) CASSANDRA_STORAGE_PORT=$(free_port) CASSANDRA_JMX_PORT=$(free_port)
  # The process does not live long enough to earn the cost of the optimising compiler.
  CASSANDRA_JAVA=-XX:TieredStopAtLevel=1
  server=(env CASSANDRA_DIR="$CASSANDRA_DIR" CASSANDRA_PORT="$CASSANDRA_PORT"
    CASSANDRA_STORAGE_PORT="$CASSANDRA_STORAGE_PORT" CASSANDRA_JMX_PORT="$CASSANDRA_JMX_PORT"
    CASSANDRA_JAVA="$CASSANDRA_JAVA" hack/cassandra/cassandra.sh)
  trap '"${server[@]}" kill 1; rm -rf "$directory" "$programs"' EXIT
  # It comes up while Go builds the tests; the first test that needs it waits.
  "${server[@]}" start 1
  export VARVE_TEST_CASSANDRA=127.0.0.1:$CASSANDRA_PORT
fi

# End-to-end tests and the operator's take longest. They start first, so that none of them
# runs alone at the end.
mapfile -t packages < <(go list "${packages[@]}" | awk '{print !/varve\/(test\/|controllers$)/, $0}' | sort -s -k 1,1 | cut -d ' ' -f 2)

# -trimpath makes the build cache independent of the checkout's path.
go test -race -trimpath -p "${PARALLEL:-4}" -timeout 30m "${flags[@]}" "${packages[@]}"
