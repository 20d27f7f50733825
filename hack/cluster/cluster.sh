#!/usr/bin/env bash
# Runs a real Kubernetes cluster of several nodes, for tests and demos.
#
#   cluster.sh up [N]            start a cluster of N nodes (3), and wait until it is ready
#   cluster.sh down              stop the cluster and delete everything except its logs
#   cluster.sh env               print its shell variables: eval "$(cluster.sh env)"
#   cluster.sh status            list the running parts
#   cluster.sh load FILE.tar     load an image (docker-archive) on all nodes
#   cluster.sh node-up NODE      start a node: a new one, or one that was down
#   cluster.sh node-down NODE    kill a node as a power cut would, without any shutdown
#   cluster.sh stop|start PART   stop or start a part of the control plane: etcd,
#                                kube-apiserver, kube-controller-manager, kube-scheduler
#   cluster.sh cassandra-operator   install cass-operator and the images of Cassandra's pods:
#                                hack/cassandra-operator/cassandra-operator.sh
#   cluster.sh k8ssandra-operator   the same, and k8ssandra-operator:
#                                hack/k8ssandra-operator/k8ssandra-operator.sh
#   cluster.sh build             only build the programs and images of a cluster (bare)
#   cluster.sh assets            print the value of KUBEBUILDER_ASSETS for envtest; build
#                                etcd, kube-apiserver and kubectl unless it is set
#
# NODE is a name that kubectl shows, or its number (1 to 9).
#
# There are two drivers. If kind and a Docker daemon are available, the driver is kind: nodes are
# containers. Otherwise it is bare: on a Linux machine, as root, the script builds Kubernetes from
# Go modules and runs its control plane as plain processes. Each node is a set of namespaces with
# its own containerd, kubelet and kube-proxy. Nothing is pulled from an image registry.
#
# A machine can run one bare cluster at a time. Its pods reach this machine at 10.250.0.1,
# 10.250.0.2 and 10.250.0.3, and this machine reaches pods by their addresses. Pods reach nothing
# else. Service addresses work only in pods; NodePorts also work from this machine. Claims of up to
# 100Gi are bound to folders of this machine that all nodes share, so a volume outlives its node.
# NetworkPolicies are not enforced. Each node has the image localhost/busybox:1.
#
# Environment:
#   CLUSTER             the driver, bare or kind            (detected)
#   CLUSTER_DIR         folder for the cluster's files      ($VARVE_CACHE/cluster);
#                       containerd needs a file system other than overlay
#   VARVE_CACHE         folder for binaries                 (~/.cache/varve)
#   KUBEBUILDER_ASSETS  the value that `assets` prints, if set
#
# cluster.sh env sets KUBECONFIG, KUBEBUILDER_ASSETS, PATH (with kubectl), CLUSTER, CLUSTER_DIR,
# VARVE_HOST_IP (the address of this machine for pods) and VARVE_HOST_IPS (all such addresses;
# bare only).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
dir=$(realpath -m "${CLUSTER_DIR:-$cache/cluster}")
kubeconfig=$dir/kubeconfig

die() { echo "cluster.sh: $*" >&2; exit 1; }
log() { echo "cluster.sh: $*" >&2; }
usage() { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }

# poll SECONDS COMMAND... repeats the command until it succeeds.
poll() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= deadline)); then return 1; fi
    sleep 0.1
  done
}

driver() {
  if [[ -n ${CLUSTER:-} ]]; then
    [[ $CLUSTER == bare || $CLUSTER == kind ]] || die "CLUSTER is $CLUSTER: set it to bare or kind"
    echo "$CLUSTER"
  elif command -v kind >/dev/null && docker info >/dev/null 2>&1; then
    echo kind
  else
    echo bare
  fi
}

# lock makes sure that only one process changes the cluster. Daemons must not inherit it: see spawn.
lock() {
  mkdir -p "$dir"
  exec 9>"$dir/lock"
  flock -w 600 9 || die "another cluster.sh has held $dir/lock for 10 minutes"
}

[[ $# -ge 1 ]] || usage
verb=$1
shift

# shellcheck source-path=SCRIPTDIR
source "$here/lib/binaries.sh"
if [[ $verb == assets ]]; then
  assets
  exit
fi
driver=$(driver)
# shellcheck source=lib/bare.sh
source "$here/lib/$driver.sh"

case $verb:$# in
  up:0)   lock; cluster_up 3 ;;
  up:1)   [[ $1 =~ ^[1-9]$ ]] || usage
          lock; cluster_up "$1" ;;
  down:0) lock; cluster_down ;;
  env:0)    cluster_env ;;
  status:0) cluster_status ;;
  load:1) [[ -r $1 ]] || die "$1 cannot be read"
          lock; cluster_load "$1" ;;
  node-up:1)   lock; node_up "$1" ;;
  node-down:1) lock; node_down "$1" ;;
  stop:1 | start:1)
    case $1 in
      etcd | kube-apiserver | kube-controller-manager | kube-scheduler) lock; "part_$verb" "$1" ;;
      *) usage ;;
    esac ;;
  cassandra-operator:0) exec "$root/hack/cassandra-operator/cassandra-operator.sh" install ;;
  k8ssandra-operator:0) exec "$root/hack/k8ssandra-operator/k8ssandra-operator.sh" install ;;
  build:0) build_all ;;
  *) usage ;;
esac
