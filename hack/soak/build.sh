#!/usr/bin/env bash
# Builds the test build of the program, whose engines the soak test can disturb.
#
#   build.sh FILE
#
# In the test build, the file /run/varve/clock-step moves the wall clock of a process by a number of
# seconds. For that, the script compiles the standard library with another time.Now. So everything is
# compiled again, which takes some minutes the first time. Engines seal every minute, so that blocks
# exist early. The release build has none of this: see cmd/varve/soak.go.
set -euo pipefail

[[ $# -eq 1 ]] || { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }
library=$(go env GOROOT)/src/time
overlay=$(mktemp -d)
trap 'rm -rf "$overlay"' EXIT

# shellcheck disable=SC2016 # no expansion in the pattern
sed '/^func Now() Time {$/,/^}$/s/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += WallClockStep.Load()/' "$library/time.go" >"$overlay/time.go"
grep -q WallClockStep "$overlay/time.go" || { echo "build.sh: time.Now of this Go version is not as expected" >&2; exit 1; }
cat >"$overlay/step.go" <<'GO'
package time

import "sync/atomic"

// WallClockStep is how far Now is ahead, in seconds.
var WallClockStep atomic.Int64
GO
cat >"$overlay/overlay.json" <<JSON
{"Replace": {"$library/time.go": "$overlay/time.go", "$library/step.go": "$overlay/step.go"}}
JSON
GOOS=linux CGO_ENABLED=0 go build -trimpath -overlay "$overlay/overlay.json" -tags soak -ldflags='-s -w' -o "$1" ./cmd/varve
