# The nodes of a bare cluster. Sourced by bare.sh.
#
#   node_start ─▶ wire (netns varve-N, veth) ─▶ configure ─▶ spawn node-init.sh ─▶ node_wait
#   node_kill  ─▶ cut the wire ─▶ kill node-init.sh, and with it all of the node
# shellcheck shell=bash disable=SC2154

# fixed_folders cannot be configured in kubelet and CNI. Each node mounts its own folders there.
fixed_folders=(/var/lib/kubelet /var/lib/cni /var/log/containers)

node_number() {
  local n=${1#node-}
  [[ $n =~ ^[1-9]$ ]] || die "$1 is not a node: use node-1 to node-9"
  echo "$n"
}

node_ip() { echo "$lan.$((10 + $1))"; }

node_ctr() { ctr --address "$dir/nodes/$1/containerd.sock" --namespace k8s.io "${@:2}"; }

node_up() {
  local n
  n=$(node_number "$1")
  [[ -e $dir/complete ]] || die "no cluster is up"
  if alive "node-$n"; then
    log "node-$n is already up"
    return
  fi
  node_clean "$n"
  node_start "$n"
  node_wait "$n"
}

node_down() {
  local n
  n=$(node_number "$1")
  alive "node-$n" || die "node-$n is not up"
  node_kill "$n"
  node_clean "$n"
}

node_start() {
  local n=$1 node=$dir/nodes/$1
  mkdir -p "$node/cni" "${fixed_folders[@]}" "${fixed_folders[@]/#/$node}"
  make_node_certificates "node-$n" "$(node_ip "$n")"
  node_wire "$n"
  node_cgroups "$n"
  containerd_config >"$node/containerd.toml"
  cni_config >"$node/cni/10-pods.conflist"
  kubelet_config >"$node/kubelet.yaml"
  kube_proxy_config >"$node/kube-proxy.yaml"
  : >"$node/resolv.conf" # no DNS server outside the cluster is ever used
  spawn "node-$n" nsenter --net="/run/netns/varve-$n" \
    unshare --fork --kill-child --pid --mount --mount-proc --uts --propagation slave \
    "$here/lib/node-init.sh" "node-$n" "$node" "$bin" "$pki" "${fixed_folders[@]}" -- "$build"/images/*.tar "$dir"/images/*.tar
}

node_wait() {
  local since
  since=$(date -u +%FT%TZ -d "@$(stat -c %Y "$dir/pids/node-$1")")
  await "node-$1" 120 node_ready "$1" "$since"
}

# node_ready N TIME succeeds if the node is ready and has reported so after TIME. After a restart, the
# API server shows the old status of a node until it detects that the node was down.
node_ready() {
  local status beat
  read -r status beat < <(kubectl get node "node-$1" \
    -o 'jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}')
  [[ $status == True && $beat > $2 ]]
}

# node_wire connects the node. The node has routes only to other nodes and to this machine, and no
# default route, so no packet leaves through this machine even if it forwards packets.
node_wire() {
  local n=$1 name=varve-$1 o
  ip netns add "$name"
  ip link add "$name" type veth peer name eth0 netns "$name"
  ip link set "$name" master "$bridge" up
  ip -netns "$name" link set lo up
  ip -netns "$name" address add "$(node_ip "$n")/24" dev eth0
  ip -netns "$name" link set eth0 up
  for o in "${all_nodes[@]}"; do
    [[ $o == "$n" ]] || ip -netns "$name" route add "$pod_net.$o.0/24" via "$(node_ip "$o")"
  done
  # The node's own processes need a route to services; kube-proxy rewrites the addresses.
  ip -netns "$name" route add "$service_net" via "$host_ip"
}

# node_cgroups creates the parent cgroup of all pods of the node.
node_cgroups() {
  local root
  for root in $(cgroup_roots); do
    mkdir -p "$root/varve-$1"
    if [[ -e $root/cgroup.controllers ]]; then
      local controller
      for controller in $(<"$root/cgroup.controllers"); do echo "+$controller" >"$root/cgroup.subtree_control" || true; done
    elif [[ -e $root/cpuset.cpus ]]; then
      cat "$root/cpuset.cpus" >"$root/varve-$1/cpuset.cpus"
      cat "$root/cpuset.mems" >"$root/varve-$1/cpuset.mems"
    fi
  done
}

cgroup_roots() { awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts; }

# node_kill cuts the network first, because the kernel closes the connections of a killed process,
# which a power cut does not.
node_kill() {
  ip link delete "varve-$1" 2>/dev/null || true
  kill_process "node-$1"
}

# node_clean removes what exists outside the node's namespaces. Cgroups can be removed only after
# the last process has ended.
node_clean() {
  local root
  ip netns delete "varve-$1" 2>/dev/null || true
  for root in $(cgroup_roots); do
    poll 20 remove_cgroup "$root/varve-$1" || die "processes are still running in $root/varve-$1"
  done
}

remove_cgroup() {
  [[ -d $1 ]] || return 0
  find "$1" -depth -type d -exec rmdir {} +
}

containerd_config() {
  cat <<TOML
version = 2
root = "$node/containerd"
state = "/run/containerd"
[grpc]
  address = "$node/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$node/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true # needed without CAP_SYS_RESOURCE
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$node/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
TOML
}

# Pods are routed, not bridged, so that traffic between two pods of a node also passes kube-proxy's
# rules.
cni_config() {
  cat <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": {
  "type": "host-local", "dataDir": "/run/cni",
  "ranges": [[{"subnet": "$pod_net.$n.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
}

# Each node gets a quarter of the memory. All nodes share all processors.
kubelet_config() {
  cat <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$node/containerd.sock
address: $(node_ip "$n")
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/node-$n-serving.crt
tlsPrivateKeyFile: $pki/node-$n-serving.key
clusterDNS: [$dns_ip]
clusterDomain: cluster.local
resolvConf: $node/resolv.conf
cgroupDriver: cgroupfs
cgroupRoot: /varve-$n
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
podLogsDir: $node/pod-logs
systemReserved: {memory: $(awk '/^MemTotal/ { printf "%dKi", $2 * 3 / 4 }' /proc/meminfo)}
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 4s
nodeLeaseDurationSeconds: 16
# Needed without CAP_SYS_RESOURCE:
maxOpenFiles: 20000
oomScoreAdj: 0
YAML
}

kube_proxy_config() {
  cat <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: $pki/kube-proxy.conf}
hostnameOverride: node-$n
clusterCIDR: $pod_net.0.0/16
bindAddress: $(node_ip "$n")
nodePortAddresses: [$(node_ip "$n")/32]
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
}
