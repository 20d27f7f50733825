#!/usr/bin/env bash
# Builds the web UI, and checks that its bundle is up to date.
#
#   hack/ui.sh build   builds ui/ into engine/serve/ui/dist; needs Node 20 or newer, and npm
#   hack/ui.sh check   compares the hashes of sources and bundle with those of the last build;
#                      needs no Node
#   hack/ui.sh dev     serves ui/ with reload; VARVE_URL is a running archive
set -euo pipefail
cd "$(dirname "$0")/.."

dist=engine/serve/ui/dist
sums=engine/serve/ui/bundle.sha256
limit=102400 # bytes of the bundle, compressed

# hash_files prints one hash of the names and the contents of files.
hash_files() { LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1; }
hashes() {
  echo "sources $(git ls-files -z --cached --others --exclude-standard ui | hash_files)"
  echo "bundle $(find "$dist" -type f -print0 | hash_files)"
}

compressed() { find "$dist" -type f -exec sh -c 'gzip -9 -c "$1" | wc -c' _ {} \; | awk '{ n += $1 } END { print n }'; }

case ${1:-} in
  build)
    npm --prefix ui ci --no-audit --no-fund
    npm --prefix ui run build
    size=$(compressed)
    [[ $size -le $limit ]] || { echo "ui: the bundle has $size bytes compressed, and may have $limit" >&2; exit 1; }
    hashes >"$sums"
    ;;
  check)
    diff <(hashes) "$sums" || { echo "ui: the bundle in $dist is out of date: run 'make ui' and commit it" >&2; exit 1; }
    ;;
  dev)
    npm --prefix ui ci --no-audit --no-fund
    npm --prefix ui run dev
    ;;
  *) echo "usage: ${0##*/} build|check|dev" >&2; exit 2 ;;
esac
