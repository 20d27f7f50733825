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

go mod tidy -diff || complain "run 'go mod tidy'"
go vet ./... || complain "go vet is not content"

exit $failed
