# A cluster on a bare Linux machine. Sourced by cluster.sh.
#
#   host:   etcd ◀─ kube-apiserver ◀─ kube-controller-manager, kube-scheduler
#           10.250.0.1, .2, .3 on the bridge varve0 ── veths varve-1 … varve-9
#   node N: namespaces (net varve-N; pid, mount, uts of node-init.sh) with containerd,
#           kubelet, kube-proxy, and pods in 10.244.N.0/24
#
# A node's processes and mounts live in their own namespaces, so killing its first process ends the
# whole node at once, in any state.
# shellcheck shell=bash disable=SC2154

bridge=varve0
lan=10.250.0
host_ip=$lan.1
host_ips="$lan.1 $lan.2 $lan.3"
pod_net=10.244
service_net=10.96.0.0/16
dns_ip=10.96.0.10
all_nodes=(1 2 3 4 5 6 7 8 9)

# Programs must not use a proxy for addresses inside the cluster.
inside=$lan.0/24,$pod_net.0.0/16,127.0.0.1,localhost
[[ ${NO_PROXY:-} == *$inside* ]] || NO_PROXY=$inside${NO_PROXY:+,$NO_PROXY}
export NO_PROXY no_proxy=$NO_PROXY

source "$here/lib/process.sh"
source "$here/lib/certificates.sh"
source "$here/lib/control-plane.sh"
source "$here/lib/node.sh"

kubectl() { "$bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }

# check_machine installs the Debian packages that are missing. Tests need faketime, for IOCs whose
# clocks change.
check_machine() {
  [[ $(uname) == Linux ]] || die "a bare cluster needs Linux; use kind"
  [[ $EUID -eq 0 ]] || die "a bare cluster needs root, for namespaces and cgroups; use kind, or become root"
  case $dir/ in
    /run/* | /var/run/* | /proc/* | /sys/* | /dev/*) die "CLUSTER_DIR is $dir, which nodes cannot see: choose another folder" ;;
  esac
  # A Unix socket's path has at most 107 bytes.
  ((${#dir} <= 70)) || die "CLUSTER_DIR is longer than 70 characters: $dir"
  local need missing=()
  for need in containerd:containerd runc:runc nft:nftables ip:iproute2 openssl:openssl busybox:busybox-static \
    /usr/lib/cni/ptp:containernetworking-plugins faketime:faketime; do
    command -v "${need%:*}" >/dev/null || missing+=("${need#*:}")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  command -v apt-get >/dev/null || die "install these packages (Debian names): ${missing[*]}"
  log "installing ${missing[*]}"
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" >&2
}

# network_up creates a separate network on a bridge. Addresses of pods and services that no node
# has are unreachable, instead of being sent to the machine's router.
network_up() {
  local n
  ip link add "$bridge" type bridge
  local address
  for address in $host_ips; do ip address add "$address/24" dev "$bridge"; done
  ip link set "$bridge" up
  for n in "${all_nodes[@]}"; do ip route add "$pod_net.$n.0/24" via "$(node_ip "$n")"; done
  ip route add unreachable "$pod_net.0.0/16"
  ip route add unreachable "$service_net"
}

network_down() {
  if [[ -z $(ls /run/netns) ]]; then umount /run/netns; fi
  ip link delete "$bridge"
  ip route delete unreachable "$pod_net.0.0/16"
  ip route delete unreachable "$service_net"
} 2>/dev/null

cluster_up() {
  check_machine
  if [[ -e $dir/complete ]] && alive kube-apiserver; then
    log "the cluster is already up: $kubeconfig"
    return
  fi
  build_all
  cluster_down # remove what an earlier start left
  rm -rf "$dir/logs"
  mkdir -p "$dir"/{logs,pids,images,nodes}
  trap 'log "the cluster did not start: see the logs in $dir/logs, and run cluster.sh down to stop its processes"' EXIT
  local began=$SECONDS n
  network_up
  make_certificates
  local part
  for part in etcd kube-apiserver kube-controller-manager kube-scheduler; do part_start $part; done
  volumes_up
  kubectl apply -f "$here/manifests" >/dev/null
  for ((n = 1; n <= $1; n++)); do node_start "$n"; done
  for ((n = 1; n <= $1; n++)); do node_wait "$n"; done
  kubectl -n kube-system rollout status --timeout=180s deployment/coredns deployment/metrics-server >/dev/null
  touch "$dir/complete"
  trap - EXIT
  log "a cluster of $1 nodes is up after $((SECONDS - began)) s; to use it, run eval \"\$($0 env)\""
}

# volumes_up creates PersistentVolumes that are folders of this machine, which all nodes share. Root
# owns them, so a pod with another user needs an fsGroup, as with most real drivers.
volumes_up() {
  local i
  for i in {01..24}; do
    mkdir -p "$dir/volumes/$i"
    sed "s|@NAME@|volume-$i|; s|@PATH@|$dir/volumes/$i|" "$here/lib/volume.yaml"
  done | kubectl apply -f - >/dev/null
}

# cluster_down removes a cluster, even one that started only in part.
cluster_down() {
  local n part
  [[ $EUID -eq 0 ]] || die "stopping a bare cluster needs root: become root"
  for n in "${all_nodes[@]}"; do node_kill "$n"; done
  for part in kube-scheduler kube-controller-manager kube-apiserver etcd; do kill_process $part; done
  for n in "${all_nodes[@]}"; do node_clean "$n"; done
  network_down || true
  # Delete only files that this script created: CLUSTER_DIR can be a folder of the user.
  rm -rf "$dir"/{complete,kubeconfig,pki,etcd,nodes,pids,images,volumes}
  rmdir "${fixed_folders[@]}" 2>/dev/null || true
}

cluster_env() {
  cat <<SH
export CLUSTER=bare
export CLUSTER_DIR='$dir'
export KUBECONFIG='$kubeconfig'
export KUBEBUILDER_ASSETS='${KUBEBUILDER_ASSETS:-$bin}'
export PATH='$bin':"\$PATH"
export NO_PROXY='$NO_PROXY' no_proxy='$NO_PROXY'
export VARVE_HOST_IP=$host_ip
export VARVE_HOST_IPS='$host_ips'
SH
}

cluster_status() {
  local part n
  for part in etcd kube-apiserver kube-controller-manager kube-scheduler; do
    if alive $part; then echo "$part is running"; else echo "$part is not running"; fi
  done
  for n in "${all_nodes[@]}"; do
    if alive "node-$n"; then echo "node-$n is running"; fi
  done
}

# cluster_load also keeps the image for nodes that start later.
cluster_load() {
  local n copy=$dir/images/${1##*/}
  [[ -e $dir/complete ]] || die "no cluster is up"
  [[ $1 -ef $copy ]] || cp "$1" "$copy"
  for n in "${all_nodes[@]}"; do
    if alive "node-$n"; then
      node_ctr "$n" images import "$copy" >/dev/null || die "node-$n cannot import $1"
    fi
  done
}
