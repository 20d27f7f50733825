#!/usr/bin/env bash
# Installs a pinned Go tool once, and prints the path of its binary.
#
#   hack/tools.sh actionlint        checks .github/workflows
#   hack/tools.sh controller-gen
#   hack/tools.sh cosign            signs releases
#   hack/tools.sh cyclonedx-gomod   lists what a program is built from
#   hack/tools.sh dex               an OpenID Connect issuer for tests, from hack/dex
#   hack/tools.sh golangci-lint     with kube-api-linter, from hack/linter
#   hack/tools.sh govulncheck       finds known vulnerabilities
#   hack/tools.sh helm
#   hack/tools.sh promtool          tests alerts; its build takes minutes
#   hack/tools.sh vale              checks words, by .vale.ini
#
# Binaries are kept outside the tree, in ${VARVE_CACHE:-$XDG_CACHE_HOME/varve}. The name of their
# folder contains the versions of the tool and of Go, because a linter that was built with an
# older Go rejects newer code. Several callers can run at the same time.
set -euo pipefail

usage() { echo "usage: ${0##*/} actionlint|controller-gen|cosign|cyclonedx-gomod|dex|golangci-lint|govulncheck|helm|promtool|vale" >&2; exit 2; }
[[ $# -eq 1 ]] || usage

modules=$(dirname "$(readlink -f "$0")") # linter and dex are modules of their own
source_of() { cat "$modules/$1"/{go.mod,go.sum,main.go} | sha256sum | cut -c1-12; }

case $1 in
  actionlint)     version=v1.7.12 package=github.com/rhysd/actionlint/cmd/actionlint ;;
  controller-gen) version=v0.21.0 package=sigs.k8s.io/controller-tools/cmd/controller-gen ;;
  cosign)         version=v2.6.5 package=github.com/sigstore/cosign/v2/cmd/cosign ;;
  cyclonedx-gomod) version=v1.10.0 package=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod ;;
  dex)            version=$(source_of dex) module=dex ;;
  golangci-lint)  version=$(source_of linter) module=linter ;;
  govulncheck)    version=v1.9.0 package=golang.org/x/vuln/cmd/govulncheck ;;
  helm)           version=v3.22.0 package=helm.sh/helm/v3/cmd/helm ;;
  promtool)       version=v0.313.0 package=github.com/prometheus/prometheus/cmd/promtool ;;
  vale)           version=v3.19.0 package=github.com/errata-ai/vale/v3/cmd/vale cgo=1 ;; # it parses Go in C
  *) usage ;;
esac

cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
# go env GOVERSION is the version of the selected toolchain.
dir=$cache/tools/$1-$version-$(go env GOVERSION)
binary=$dir/$1

if [[ ! -x $binary ]]; then
  mkdir -p "$dir"
  exec 9>"$dir/lock"
  flock 9
  if [[ ! -x $binary ]]; then # another caller may have installed it in the meantime
    echo "installing $1 $version" >&2
    export GOBIN=$dir/new GOFLAGS= CGO_ENABLED=${cgo:-0}
    if [[ -n ${module:-} ]]; then
      (cd "$modules/$module" && go build -trimpath -o "$GOBIN/$1" .) >&2
    elif [[ $1 == promtool ]]; then
      # go install refuses its module, which has replace directives. The tag leaves out service discovery.
      source=$(go mod download -json "${package%/cmd/*}@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
      GOWORK=off go -C "$source" build -trimpath -tags remove_all_sd -o "$GOBIN/$1" ./cmd/promtool >&2
    else
      go install -trimpath "$package@$version" >&2
    fi
    mv "$dir/new/$1" "$binary" # the name never refers to an incomplete binary
    rmdir "$dir/new"
  fi
fi
echo "$binary"
