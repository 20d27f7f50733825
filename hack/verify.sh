#!/usr/bin/env bash
# Checks that generated files, formatting and go.mod are up to date. It shows which generated
# files are not, and updates them.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
report() { echo "verify: $*" >&2; failed=1; }

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
generated=(api config docs/reference docs/schemas charts engine/store/pending_methods.go)
cp -R --parents "${generated[@]}" "$before"
make --no-print-directory generate manifests
for dir in "${generated[@]}"; do
  diff -ru "$before/$dir" "$dir" || report "$dir was out of date: commit the output of 'make generate manifests'"
done

# This includes files that are not committed yet.
unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
[[ -z $unformatted ]] || report "run 'make fmt' for" $unformatted

# The map of the code in CONTRIBUTING.md names each package once, and nothing else.
mapped=$(sed -n '/^## Map of the code/,/^Imports point/p' CONTRIBUTING.md | sed -n 's/^| *\([a-z][^|]*\)|.*/\1/p' | tr ',' '\n' | tr -d ' `' | grep -vx package | sort)
packages=$(git ls-files --cached --others --exclude-standard '*.go' | xargs -n 1 dirname | sort -u)
missing=$(comm -13 <(sort -u <<<"$mapped") <(sort <<<"$packages") | tr '\n' ' ')
[[ -z $missing ]] || report "the map in CONTRIBUTING.md does not name: $missing"
for place in $mapped; do
  [[ -e $place ]] || report "the map in CONTRIBUTING.md names $place, which does not exist"
done

# `make test RACE=1` tests the packages of SINGLE without the race detector, so they start no goroutines.
for package in ${SINGLE:-}; do
  [[ -d $package ]] || report "SINGLE in the Makefile names $package, which does not exist"
  starts=$(grep -nE '^[^/"]*\bgo (func|[A-Za-z_.]+)\(|\.Go\(|\bt\.Parallel\(|\bsynctest\.|\bhttptest\.' "$package"/*.go || true)
  [[ -z $starts ]] || report "remove $package from SINGLE in the Makefile, because it starts a goroutine: $starts"
done

# A build of the web UI needs Node, so this compares hashes.
hack/ui.sh check || report "the bundle of the web UI is out of date"

# Words of docs, Go comments and chart values.
git ls-files '*.md' '*.go' '*values.yaml' | grep -v charts/cass-operator/ | xargs "$(hack/tools.sh vale)" --output=line ||
  report "replace these words: docs/glossary.md has the terms"

"$(hack/tools.sh actionlint)" -shellcheck= -pyflakes= .github/workflows/*.yml || report "correct the workflows"

go mod verify >/dev/null || report "modules in the cache differ from go.sum: run 'go clean -modcache'"
go mod tidy -diff || report "run 'go mod tidy'"
go vet ./... || report "go vet found problems"

exit $failed
