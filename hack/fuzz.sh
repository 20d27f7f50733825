#!/usr/bin/env bash
# Runs each fuzz target of the tree for some time: hack/fuzz.sh 10s
set -euo pipefail
cd "$(dirname "$0")/.."

fuzztime=${1:-10s}
git grep -lE '^func Fuzz' -- '*_test.go' | while read -r file; do
  sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file" | while read -r target; do
    echo "fuzzing $target of ${file%/*}"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "./${file%/*}" </dev/null
  done
done
