# A cluster of containers, run by kind. Sourced by cluster.sh.
#
# Unlike a bare cluster, it has no metrics-server and a fixed number of nodes, and this machine
# reaches pods only by NodePorts or kubectl port-forward.
# shellcheck shell=bash disable=SC2154

kind_name=varve
manifests=/etc/kubernetes/manifests # the control plane's static pods

kubectl() { KUBECONFIG=$kubeconfig command kubectl "$@"; }

kind_exists() { kind get clusters 2>/dev/null | grep -qx $kind_name; }

# kind_node prints the name of a node: the workers are called varve-worker, varve-worker2, …
kind_node() {
  case $1 in
    1) echo $kind_name-worker ;;
    [2-9]) echo "$kind_name-worker$1" ;;
    *) echo "$1" ;;
  esac
}

cluster_up() {
  if kind_exists; then
    log "the cluster is already up: $kubeconfig"
    return
  fi
  {
    grep -v 'role: worker' "$root/hack/kind.yaml"
    for ((n = 1; n <= $1; n++)); do echo "  - role: worker"; done
  } | kind create cluster --name $kind_name --config - --kubeconfig "$kubeconfig" --wait 180s
}

cluster_down() {
  kind delete cluster --name $kind_name --kubeconfig "$kubeconfig"
  rm -f "$kubeconfig"
}

cluster_env() {
  if ! command -v kubectl >/dev/null; then build_programs kubectl; fi
  cat <<SH
export CLUSTER=kind
export CLUSTER_DIR='$dir'
export KUBECONFIG='$kubeconfig'
export KUBEBUILDER_ASSETS='$(assets)'
export PATH="\$PATH":'$bin'
export VARVE_HOST_IP=$(docker network inspect kind -f '{{range .IPAM.Config}}{{println .Gateway}}{{end}}' | grep -m1 -F .)
SH
}

cluster_status() { docker ps --all --filter "label=io.x-k8s.kind.cluster=$kind_name" --format '{{.Names}} {{.Status}}'; }

cluster_load() { kind load image-archive "$1" --name $kind_name; }

node_up() {
  local node
  node=$(kind_node "$1")
  docker start "$node" >/dev/null || die "$node does not exist, and kind cannot add nodes to a cluster"
  kubectl wait --for=condition=Ready --timeout=120s "node/$node" >/dev/null
}

node_down() { docker kill "$(kind_node "$1")" >/dev/null; }

part_stop() { docker exec $kind_name-control-plane mv "$manifests/$1.yaml" /etc/kubernetes/; }

part_start() { docker exec $kind_name-control-plane mv "/etc/kubernetes/$1.yaml" "$manifests/"; }

build_all() { log "kind needs no build"; }
