#!/usr/bin/env bash
# Runs a real Kubernetes cluster of several nodes, for tests and demos.
#
#   cluster.sh up [N]            start a cluster of N nodes (3), and wait until it serves
#   cluster.sh down              end it; logs are kept, nothing else is
#   cluster.sh env               print its shell variables: eval "$(cluster.sh env)"
#   cluster.sh status            what runs
#   cluster.sh load FILE.tar     give an image (docker-archive) to all nodes
#   cluster.sh node-up NODE      start a node: a new one, or one that was down
#   cluster.sh node-down NODE    pull its plug: no goodbye, neither on the network nor to pods
#   cluster.sh stop|start PART   a part of the control plane: etcd, kube-apiserver,
#                                kube-controller-manager, kube-scheduler
#   cluster.sh cassandra-operator   install cass-operator, with what Cassandra's pods need:
#                                hack/cassandra-operator/cassandra-operator.sh
#   cluster.sh build             only build what a cluster needs (bare)
#   cluster.sh assets            print the value of KUBEBUILDER_ASSETS for envtest; build
#                                etcd, kube-apiserver and kubectl if it is not set
#
# NODE is a name that kubectl shows, or its number (1 to 9).
#
# There are two ways to run it. kind is taken where kind and a Docker daemon are:
# nodes are containers. Else bare: on a Linux machine, as root, Kubernetes is built
# from Go modules, its control plane runs as plain processes, and each node is a set
# of namespaces with its own containerd, kubelet and kube-proxy. Nothing is pulled
# from an image registry.
#
# A machine has one bare cluster at a time. Its pods reach this machine at 10.250.0.1,
# 10.250.0.2 and 10.250.0.3, and this machine reaches pods by their addresses; nothing else is
# reached. Services have their addresses in pods only; NodePorts work from here. Claims
# of up to 100Gi are bound to directories of this machine, which all nodes see, so a
# volume outlives its node. NetworkPolicies are not enforced. The image
# localhost/busybox:1 is on each node.
#
# Environment:
#   CLUSTER             bare or kind, instead of a guess
#   CLUSTER_DIR         where the cluster keeps its files   ($VARVE_CACHE/cluster);
#                       containerd cannot have them on an overlay file system
#   VARVE_CACHE         where binaries are kept             (~/.cache/varve)
#   KUBEBUILDER_ASSETS  what `assets` prints, if it is set
#
# cluster.sh env sets KUBECONFIG, KUBEBUILDER_ASSETS, PATH (with kubectl), CLUSTER, CLUSTER_DIR,
# VARVE_HOST_IP (this machine, as pods see it) and VARVE_HOST_IPS (all its addresses; bare only).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
dir=$(realpath -m "${CLUSTER_DIR:-$cache/cluster}")
kubeconfig=$dir/kubeconfig

die() { echo "cluster.sh: $*" >&2; exit 1; }
say() { echo "cluster.sh: $*" >&2; }
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
    [[ $CLUSTER == bare || $CLUSTER == kind ]] || die "CLUSTER is $CLUSTER, neither bare nor kind"
    echo "$CLUSTER"
  elif command -v kind >/dev/null && docker info >/dev/null 2>&1; then
    echo kind
  else
    echo bare
  fi
}

# One at a time changes a cluster. Daemons must not inherit the lock: see spawn.
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
  build:0) build_all ;;
  *) usage ;;
esac
