#!/usr/bin/env bash
# Checks that what tools generate or format is as they would make it. Generated
# files that are out of date are shown, and up to date afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
complain() { echo "verify: $*" >&2; failed=1; }

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
generated=(api config docs/reference charts)
cp -R --parents "${generated[@]}" "$before"
make --no-print-directory generate manifests
for dir in "${generated[@]}"; do
  diff -ru "$before/$dir" "$dir" || complain "$dir was out of date: commit what 'make generate manifests' made"
done

# Also files that are not committed yet.
unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
[[ -z $unformatted ]] || complain "run 'make fmt' for" $unformatted

# The map of the code in CONTRIBUTING.md names each package once, and nothing else.
mapped=$(sed -n '/^## Map of the code/,/^Imports point/p' CONTRIBUTING.md | sed -n 's/^| *\([a-z][^|]*\)|.*/\1/p' | tr ',' '\n' | tr -d ' `' | sort)
packages=$(git ls-files --cached --others --exclude-standard '*.go' | xargs -n 1 dirname | sort -u)
missing=$(comm -13 <(sort -u <<<"$mapped") <(sort <<<"$packages") | tr '\n' ' ')
[[ -z $missing ]] || complain "the map in CONTRIBUTING.md does not name: $missing"
for place in $mapped; do
  [[ -e $place ]] || complain "the map in CONTRIBUTING.md names $place, which does not exist"
done

# Words of docs, Go comments and chart values.
git ls-files '*.md' '*.go' '*values.yaml' | grep -v charts/cass-operator/ | xargs "$(hack/tools.sh vale)" --output=line ||
  complain "replace these words: docs/glossary.md has the terms"

go mod tidy -diff || complain "run 'go mod tidy'"
go vet ./... || complain "go vet is not content"

exit $failed
