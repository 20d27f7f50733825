#!/usr/bin/env bash
# Runs each fuzz target for a time or a number of inputs.
#
#   hack/fuzz.sh 10s                all targets
#   hack/fuzz.sh 20000x engine      only the targets below engine/
#
# Go fills each package that a target imports with counters, so that it finds new paths. For Kubernetes' clients, that takes
# longer than everything else, so the targets of packages that import them run without counters.
set -euo pipefail
cd "$(dirname "$0")/.."

fuzztime=${1:-10s}
below=${2:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for package in $(git grep -lE '^func Fuzz' -- "$below/*_test.go" | xargs -n1 dirname | sort -u); do
  counters=(-fuzz=.)
  imported=$(go list -deps "./$package")
  if grep -qx sigs.k8s.io/controller-runtime/pkg/client <<<"$imported"; then counters=(); fi
  go test -c -ldflags='-s -w' "${counters[@]}" -o "$work/fuzz.test" "./$package"
  for target in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$package"/*_test.go); do
    echo "fuzzing $target of $package"
    (cd "$package" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$fuzztime" \
      -test.fuzzcachedir "$work/cache" </dev/null)
  done
done
