#!/usr/bin/env bash
# Installs k8ssandra-operator and cass-operator on the cluster of hack/cluster, for tests.
#
#   k8ssandra-operator.sh install     install cass-operator with hack/cassandra-operator, then
#                                     k8ssandra-operator in namespace k8ssandra-operator, for all
#                                     namespaces, and wait until it is ready
#   k8ssandra-operator.sh uninstall   uninstall k8ssandra-operator; cass-operator, CRDs and clusters stay
#   k8ssandra-operator.sh build       build the images for a bare cluster once, and print the folder of
#                                     k8ssandra-operator's image
#
# On kind, the image comes from its registry. A bare cluster has no registry and gets the image
# localhost/k8ssandra-operator:1.20.0: the unchanged k8ssandra-operator, built from its Go module, but
# with cass-operator's module v1.22.4 instead of v1.22.3, which the module proxy lacks. The images of
# Cassandra's pods are those of hack/cassandra-operator, because cass-operator chooses them.
#
# CRDs and rights come from the module's folder config. The webhook that validates K8ssandraClusters is
# installed, with a certificate that this script makes. The webhooks that validate
# MedusaBackupSchedules and inject external secrets into pods are left out. There are no images of
# Medusa, Reaper, Stargate and Vector.
#
# Environment: VARVE_CACHE and CLUSTER_DIR, as in hack/cluster/cluster.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
namespace=k8ssandra-operator
service=k8ssandra-operator-webhooks.$namespace.svc

log() { echo "k8ssandra-operator.sh: $*" >&2; }
usage() { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }

module() { GOFLAGS='' GOWORK=off go "$@"; }

version() { sed -n 's|.*/k8ssandra-operator v\([0-9.]*\).*|\1|p' "$here/module/go.mod"; }

# build builds the image and sets images to its folder. The name of the folder is a hash of everything
# that determines the image.
build() {
  local key
  key=$({ (cd "$root" && cat hack/k8ssandra-operator/module/go.* hack/image/main.go hack/oci/image.go hack/oci/layer.go)
    go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-12)
  images=$cache/k8ssandra-operator-$key
  if [[ -e $images/complete ]]; then return; fi
  mkdir -p "$images"
  (
    flock 9
    [[ -e $images/complete ]] && exit # another caller may have built it in the meantime
    log "building the image, which takes minutes the first time"
    began=$SECONDS
    rootfs=$(mktemp -d)
    trap 'rm -rf "$rootfs"' EXIT
    CGO_ENABLED=0 module build -C "$here/module" -buildvcs=false -trimpath -ldflags '-s -w' -o "$rootfs/manager" \
      github.com/k8ssandra/k8ssandra-operator >&2
    (cd "$root" && CGO_ENABLED=0 go run -trimpath ./hack/image -o "$images/k8ssandra-operator.tar" \
      -tag "localhost/k8ssandra-operator:$(version)" -user 65532 -entrypoint /manager -add "$rootfs:/") >&2
    touch "$images/complete"
    log "built in $((SECONDS - began)) s"
  ) 9>"$images/lock"
}

config() { module mod download -C "$here/module" -json github.com/k8ssandra/k8ssandra-operator | sed -n 's|^\t"Dir": "\(.*\)",$|\1/config|p'; }

apply() { kubectl apply --server-side --force-conflicts -f - >/dev/null; }

# certificate makes the webhook's certificate, which is its own authority, in a folder.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$service" \
    -addext "subjectAltName=DNS:$service" -keyout "$1/tls.key" -out "$1/tls.crt" 2>/dev/null
}

install() {
  eval "$("$root/hack/cluster/cluster.sh" env)"
  "$root/hack/cassandra-operator/cassandra-operator.sh" install
  local began=$SECONDS image crd config
  image=k8ssandra/k8ssandra-operator:v$(version)
  if [[ $CLUSTER == bare ]]; then
    build
    "$root/hack/cluster/cluster.sh" load "$images/k8ssandra-operator.tar"
    image=localhost/k8ssandra-operator:$(version)
  fi
  config=$(config)
  for crd in "$config"/crd/bases/*.yaml; do apply <"$crd"; done
  # The module has the rights as a Role.
  sed 's/^kind: Role$/kind: ClusterRole/; /^  namespace: /d' "$config/rbac/role.yaml" | apply
  kubectl create namespace $namespace --dry-run=client -o yaml | apply
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  certificate "$folder"
  kubectl create secret tls k8ssandra-operator-webhooks -n $namespace --cert="$folder/tls.crt" --key="$folder/tls.key" \
    --dry-run=client -o yaml | apply
  sed "s|@IMAGE@|$image|; s|@CERTIFICATE@|$(base64 -w0 "$folder/tls.crt")|; s|@CHECKSUM@|$(sha256sum <"$folder/tls.crt" | cut -c1-12)|" \
    "$here/operator.yaml" | apply
  kubectl rollout status -n $namespace deployment/k8ssandra-operator --timeout=5m >&2
  log "k8ssandra-operator is ready after $((SECONDS - began)) s"
}

uninstall() {
  eval "$("$root/hack/cluster/cluster.sh" env)"
  kubectl delete validatingwebhookconfiguration k8ssandra-operator --ignore-not-found
  kubectl delete namespace $namespace --ignore-not-found
  kubectl delete clusterrolebinding,clusterrole k8ssandra-operator --ignore-not-found
}

[[ $# -eq 1 ]] || usage
case $1 in
  build)
    "$root/hack/cassandra-operator/cassandra-operator.sh" build >/dev/null
    build
    echo "$images" ;;
  install) install ;;
  uninstall) uninstall ;;
  *) usage ;;
esac
