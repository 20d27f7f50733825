#!/usr/bin/env bash
# Generates files of the charts: RBAC rules, schemas and tables of values, and cass-operator's
# CRDs. With check, it writes nothing and lists the files that are out of date.
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
