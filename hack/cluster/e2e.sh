#!/usr/bin/env bash
# Runs the end-to-end tests on the cluster that cluster.sh started.
#
#   e2e.sh IMAGE FILE LABELS [GO_TEST_FLAGS...]
#
# IMAGE is the name of the image under test, and FILE its archive. LABELS is a Ginkgo label filter;
# if it is empty, all specs run. The variable SUITE is the folder of the tests (test/e2e), and TIMEOUT
# is the time limit of all specs together (2h).
set -euo pipefail

[[ $# -ge 3 ]] || { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }
image=$1 file=$2 labels=$3
shift 3
cluster=$(dirname "$0")/cluster.sh

environment=$("$cluster" env)
eval "$environment"
"$cluster" load "$file"

# Specs with the label bare depend on the nodes and processes of a bare cluster.
if [[ $CLUSTER == kind ]]; then labels=${labels:+($labels) && }!bare; fi

plain=()
[[ -t 1 ]] || plain=(-ginkgo.no-color)

VARVE_E2E=1 VARVE_IMAGE=$image go test "./${SUITE:-test/e2e}" -v -count=1 -timeout="${TIMEOUT:-2h}" "$@" \
  -ginkgo.v -ginkgo.timeout="${TIMEOUT:-2h}" -ginkgo.label-filter="$labels" "${plain[@]}"
