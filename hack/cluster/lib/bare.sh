# A cluster on a bare Linux machine. Sourced by cluster.sh.
#
#   host:   etcd ◀─ kube-apiserver ◀─ kube-controller-manager, kube-scheduler
#           10.250.0.1, .2, .3 on the bridge varve0 ── veths varve-1 … varve-9
#   node N: namespaces (net varve-N; pid, mount, uts of node-init.sh) with containerd,
#           kubelet, kube-proxy, and pods in 10.244.N.0/24
#
# A node's processes and mounts live in namespaces of their own, so killing its first
# process ends all of it at once, whatever state it is in.
# shellcheck shell=bash disable=SC2154

bridge=varve0
lan=10.250.0
host_ip=$lan.1
host_ips="$lan.1 $lan.2 $lan.3"
pod_net=10.244
service_net=10.96.0.0/16
dns_ip=10.96.0.10
all_nodes=(1 2 3 4 5 6 7 8 9)

# Programs are not to ask a proxy for what is in the cluster.
inside=$lan.0/24,$pod_net.0.0/16,127.0.0.1,localhost
[[ ${NO_PROXY:-} == *$inside* ]] || NO_PROXY=$inside${NO_PROXY:+,$NO_PROXY}
export NO_PROXY no_proxy=$NO_PROXY

source "$here/lib/process.sh"
source "$here/lib/certificates.sh"
source "$here/lib/control-plane.sh"
source "$here/lib/node.sh"

kubectl() { "$bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }

# check_machine installs the Debian packages that are missing.
check_machine() {
  [[ $(uname) == Linux ]] || die "a bare cluster needs Linux; use kind"
  [[ $EUID -eq 0 ]] || die "a bare cluster needs root, for namespaces and cgroups; use kind, or become root"
  case $dir/ in
    /run/* | /var/run/* | /proc/* | /sys/* | /dev/*) die "CLUSTER_DIR is $dir, which nodes do not see" ;;
  esac
  # A Unix socket's path has at most 107 bytes.
  ((${#dir} <= 70)) || die "CLUSTER_DIR is longer than 70 characters: $dir"
  local need missing=()
  for need in containerd:containerd runc:runc nft:nftables ip:iproute2 openssl:openssl busybox:busybox-static \
    /usr/lib/cni/ptp:containernetworking-plugins; do
    command -v "${need%:*}" >/dev/null || missing+=("${need#*:}")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  command -v apt-get >/dev/null || die "missing, by their Debian names: ${missing[*]}"
  say "installing ${missing[*]}"
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" >&2
}

# The bridge is a network of its own. The addresses of pods and services that no node
# has are unreachable, rather than sent to the machine's router.
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
    say "the cluster is up already: $kubeconfig"
    return
  fi
  build_all
  cluster_down # what an earlier start has left
  rm -rf "$dir/logs"
  mkdir -p "$dir"/{logs,pids,images,nodes}
  trap 'say "the cluster did not start; its logs are in $dir/logs, and cluster.sh down ends what runs"' EXIT
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
  say "a cluster of $1 nodes is up after $((SECONDS - began)) s; eval \"\$($0 env)\""
}

# A PersistentVolume is a directory of this machine, which every node sees. They are
# owned by root, so a pod that is not needs an fsGroup, as with most real drivers.
volumes_up() {
  local i
  for i in {01..24}; do
    mkdir -p "$dir/volumes/$i"
    sed "s|@NAME@|volume-$i|; s|@PATH@|$dir/volumes/$i|" "$here/lib/volume.yaml"
  done | kubectl apply -f - >/dev/null
}

# cluster_down ends whatever there is of a cluster, also of one that is half up.
cluster_down() {
  local n part
  [[ $EUID -eq 0 ]] || die "ending a bare cluster needs root"
  for n in "${all_nodes[@]}"; do node_kill "$n"; done
  for part in kube-scheduler kube-controller-manager kube-apiserver etcd; do kill_process $part; done
  for n in "${all_nodes[@]}"; do node_clean "$n"; done
  network_down || true
  # Nothing but what was made here: CLUSTER_DIR may be a directory of the user's.
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
    if alive $part; then echo "$part runs"; else echo "$part does not run"; fi
  done
  for n in "${all_nodes[@]}"; do
    if alive "node-$n"; then echo "node-$n runs"; fi
  done
}

# cluster_load keeps the image for nodes that start later.
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
