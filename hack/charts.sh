#!/usr/bin/env bash
# Writes those files of charts/ that follow from others: CRDs, rules, schemas of
# values, tables of values. With check, only says which are out of date.
#
#   hack/charts.sh
#   hack/charts.sh check
set -euo pipefail
cd "$(dirname "$0")/.."

module=$(hack/cassandra-operator/cassandra-operator.sh source)
case ${1:-} in
  '')    go run ./hack/charts -cass-operator "$module" ;;
  check) go run ./hack/charts -cass-operator "$module" -check ;;
  *)     echo "usage: ${0##*/} [check]" >&2; exit 2 ;;
esac
