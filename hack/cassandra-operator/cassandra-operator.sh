#!/usr/bin/env bash
# Installs cass-operator on the cluster of hack/cluster, for tests and demos.
#
#   cassandra-operator.sh install     install chart cass-operator in namespace cass-operator, for
#                                     all namespaces, and wait until it is ready
#   cassandra-operator.sh uninstall   uninstall it; CRDs and datacenters stay
#   cassandra-operator.sh build       build the images for a bare cluster once, and print their
#                                     folder
#   cassandra-operator.sh source      print the folder of cass-operator's source
#
# On kind, images come from their registries. A bare cluster has no registry and gets two images:
#
#   localhost/cass-operator:1.31.0      the unchanged cass-operator, built from its Go module
#   localhost/cassandra-standin:5.0.9   the unchanged Apache Cassandra, from its Maven jars, with
#                                       the stand-in of standin/, which serves the management API
#                                       and writes configurations as k8ssandra-client does
#
# A CassandraDatacenter with these images needs serverType cassandra and serverVersion 5.0.9, and no
# serverImage. Its pods run as any user, on volumes that the user can write. They start in 20 s, with
# a heap of 384M unless the config sets another one in jvm-server-options.
#
# The stand-in has the part of the management API that cass-operator uses. In one point it is stricter:
# it refuses to decommission a node if a keyspace would then have more replicas than nodes, even with
# force, so that tests detect a wrong order. It has neither TLS for the API itself
# (managementApiAuth: manual) nor full query logging.
#
# Environment: VARVE_CACHE and CLUSTER_DIR, as in hack/cluster/cluster.sh. A bare cluster needs a JDK,
# 17 or newer, and everything that hack/cassandra needs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
namespace=cass-operator

die() { echo "cassandra-operator.sh: $*" >&2; exit 1; }
log() { echo "cassandra-operator.sh: $*" >&2; }
usage() { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }

module() { GOFLAGS='' GOWORK=off go "$@"; }

version() { sed -n 's|.*cass-operator v\([0-9.]*\).*|\1|p' "$here/module/go.mod"; }
cassandra_version() { sed -n 's/^version=//p' "$root/hack/cassandra/cassandra.sh"; }

# build builds the images and sets images to their folder. The name of the folder is a hash of
# everything that determines the images.
build() {
  local sources key
  sources=$(cd "$root" && find hack/cassandra hack/cassandra-operator hack/image hack/oci -type f ! -name '*_test.go' | sort)
  command -v jlink >/dev/null || die "jlink is not on PATH; install a JDK, 17 or newer"
  key=$({ (cd "$root" && xargs cat <<<"$sources"); jlink --version; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-12)
  images=$cache/cassandra-operator-$key
  if [[ -e $images/complete ]]; then return; fi
  mkdir -p "$images"
  (
    flock 9
    [[ -e $images/complete ]] && exit # another caller may have built them in the meantime
    log "building images, which takes minutes the first time"
    began=$SECONDS
    rootfs=$(mktemp -d)
    trap 'rm -rf "$rootfs"' EXIT
    mkdir "$rootfs"/{operator,standin}
    operator_files "$rootfs/operator"
    image "cass-operator:$(version)" 65532 /manager "$rootfs/operator"
    standin_files "$rootfs/standin"
    image "cassandra-standin:$(cassandra_version)" 999 /entrypoint "$rootfs/standin"
    touch "$images/complete"
    log "built in $((SECONDS - began)) s"
  ) 9>"$images/lock"
}

# image NAME:TAG USER ENTRYPOINT FOLDER
image() {
  (cd "$root" && CGO_ENABLED=0 go run -trimpath ./hack/image -o "$images/${1%:*}.tar" -tag "localhost/$1" \
    -user "$2" -entrypoint "$3" -add "$4:/") >&2
}

operator_files() {
  CGO_ENABLED=0 module build -C "$here/module" -buildvcs=false -trimpath -ldflags '-s -w' -o "$1/manager" \
    github.com/k8ssandra/cass-operator/cmd >&2
}

standin_files() {
  local dir=$1 jars
  jars=$("$root/hack/cassandra/cassandra.sh" fetch)
  mkdir -p "$dir"/{bin,usr/bin,etc/cassandra,opt/cassandra,opt/standin}
  find "$jars" -name '*.jar' ! -name '*-osx-*' ! -name '*-windows-*' -exec cp -t "$dir/opt/cassandra" {} +
  javac --release 17 -proc:none -nowarn -cp "$jars/*" -d "$dir/opt/standin" "$here"/standin/src/*.java
  cp "$here/standin/etc/cassandra.yaml" "$root/hack/cassandra/logback.xml" "$dir/etc/cassandra/"
  cat "$root/hack/cassandra/jvm.options" "$here/standin/etc/jvm-server.options" >"$dir/etc/cassandra/jvm-server.options"
  sed "s/@VERSION@/$(cassandra_version)/" "$here/standin/entrypoint" >"$dir/entrypoint"
  cp "$here/standin/curl" "$dir/usr/bin/curl"
  chmod 755 "$dir/entrypoint" "$dir/usr/bin/curl"
  java_files "$dir"
  echo 'hosts: files dns' >"$dir/etc/nsswitch.conf"
  cp "$(command -v busybox)" "$dir/bin/busybox"
  "$dir/bin/busybox" --list | grep -vx busybox | while read -r name; do ln -s busybox "$dir/bin/$name"; done
}

# java_files creates a Java runtime with the modules that Cassandra needs, and the system's libraries.
java_files() {
  local dir=$1 file
  jlink --strip-debug --no-man-pages --no-header-files --output "$dir/opt/jre" --add-modules \
java.compiler,java.desktop,java.instrument,java.management,java.management.rmi,java.naming,java.rmi,java.scripting,\
java.security.jgss,java.security.sasl,java.sql,java.xml,jdk.attach,jdk.compiler,jdk.crypto.ec,jdk.httpserver,jdk.jdi,\
jdk.management,jdk.management.agent,jdk.naming.dns,jdk.naming.rmi,jdk.unsupported,jdk.zipfs
  find "$dir/opt/jre" -type f \( -name '*.so' -o -path '*/bin/java' \) -exec ldd {} + 2>/dev/null |
    grep -o '/[^ ):]*' | grep -v "^$dir" | sort -u | while read -r file; do
    mkdir -p "$dir$(dirname "$file")"
    cp -L "$file" "$dir$file"
  done
}

helm() { "$("$root/hack/tools.sh" helm)" "$@"; }

install() {
  eval "$("$root/hack/cluster/cluster.sh" env)"
  local began=$SECONDS values=()
  if [[ $CLUSTER == bare ]]; then
    build
    local image
    for image in "$images"/*.tar; do "$root/hack/cluster/cluster.sh" load "$image"; done
    values=(--values "$here/bare.values.yaml" --set-string "image.tag=$(version)"
      --set-string "imageConfig.images.k8ssandra-client.tag=$(cassandra_version)"
      --set-string "imageConfig.images.system-logger.tag=$(cassandra_version)")
  fi
  helm upgrade --install cass-operator "$root/charts/varve-operator/charts/cass-operator" --namespace $namespace --create-namespace \
    --wait --timeout 5m "${values[@]}" >&2
  log "cass-operator is ready after $((SECONDS - began)) s"
}

uninstall() {
  eval "$("$root/hack/cluster/cluster.sh" env)"
  helm uninstall cass-operator --namespace $namespace --wait
}

[[ $# -eq 1 ]] || usage
case $1 in
  build)
    build
    echo "$images" ;;
  install) install ;;
  uninstall) uninstall ;;
  source) module mod download -C "$here/module" -json github.com/k8ssandra/cass-operator | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' ;;
  *) usage ;;
esac
