#!/usr/bin/env bash
# Runs a node as its first process, in the node's own namespaces. When it ends, the node ends.
#
#   node-init.sh NAME NODE_DIR BIN_DIR PKI_DIR OWN_FOLDER... -- IMAGE...
set -euo pipefail

name=$1 node=$2 bin=$3 pki=$4
shift 4

# As after a boot, /run is empty and disks are unchanged.
mount --make-rshared /
mount -t tmpfs tmpfs /run
while [[ $1 != -- ]]; do
  mount --bind "$node$1" "$1"
  shift
done
shift
echo "$name" >/proc/sys/kernel/hostname
echo 1 >/proc/sys/net/ipv4/ip_forward

containerd --config "$node/containerd.toml" &
until ctr --address "$node/containerd.sock" version >/dev/null 2>&1; do
  kill -0 $! # fails if containerd has ended
  sleep 0.1
done

for image; do
  if [[ -e $image && ! $node/imported -nt $image ]]; then
    ctr --address "$node/containerd.sock" --namespace k8s.io images import "$image"
  fi
done
touch "$node/imported"

"$bin/kubelet" --config="$node/kubelet.yaml" --kubeconfig="$pki/$name.conf" --hostname-override="$name" \
  --node-ip="$(sed -n 's/^address: //p' "$node/kubelet.yaml")" --node-labels=topology.kubernetes.io/zone="zone-${name#node-}" &
"$bin/kube-proxy" --config="$node/kube-proxy.yaml" &

wait -n
echo "a daemon of $name has ended: the node stops" >&2
