# The control plane of a bare cluster: processes of this machine. Sourced by bare.sh.
# shellcheck shell=bash disable=SC2154

part_start() {
  [[ -d $pki ]] || die "no cluster is up"
  if alive "$1"; then
    log "$1 is already running"
    return
  fi
  case $1 in
    etcd) start_etcd ;;
    kube-apiserver) start_apiserver ;;
    kube-controller-manager) start_controller_manager ;;
    kube-scheduler) start_scheduler ;;
  esac
}

part_stop() {
  [[ -d $pki ]] || die "no cluster is up"
  end_process "$1"
}

# etcd does not sync to disk, because its data need not survive a crash of this machine.
start_etcd() {
  local client=http://127.0.0.1:12379 peer=http://127.0.0.1:12380
  spawn etcd "$bin/etcd" --name varve --data-dir "$dir/etcd" --unsafe-no-fsync \
    --listen-client-urls $client --advertise-client-urls $client \
    --listen-peer-urls $peer --initial-advertise-peer-urls $peer --initial-cluster varve=$peer
}

# Requests to aggregated APIs and webhooks go directly to pod addresses, because this machine has no
# route to services.
start_apiserver() {
  spawn kube-apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:12379 \
    --bind-address="$host_ip" --advertise-address="$host_ip" --secure-port=6443 --service-cluster-ip-range="$service_net" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --kubelet-client-certificate="$pki/apiserver-kubelet.crt" --kubelet-client-key="$pki/apiserver-kubelet.key" \
    --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file="$pki/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
    --requestheader-username-headers=X-Remote-User \
    --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key" \
    --enable-aggregator-routing=true
  await kube-apiserver 120 kubectl get --raw /readyz
}

# A lost node is detected after 16 s instead of 40 s, and the HorizontalPodAutoscaler reacts as fast
# as possible, because tests wait for both.
start_controller_manager() {
  local conf=$pki/kube-controller-manager.conf
  spawn kube-controller-manager "$bin/kube-controller-manager" --bind-address=127.0.0.1 --leader-elect=false \
    --kubeconfig="$conf" --authentication-kubeconfig="$conf" --authorization-kubeconfig="$conf" \
    --use-service-account-credentials=true --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
    --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
    --allocate-node-cidrs=false --node-monitor-grace-period=16s \
    --horizontal-pod-autoscaler-sync-period=10s --horizontal-pod-autoscaler-downscale-stabilization=30s \
    --horizontal-pod-autoscaler-initial-readiness-delay=10s --horizontal-pod-autoscaler-cpu-initialization-period=15s
}

start_scheduler() {
  local conf=$pki/kube-scheduler.conf
  spawn kube-scheduler "$bin/kube-scheduler" --bind-address=127.0.0.1 --leader-elect=false \
    --kubeconfig="$conf" --authentication-kubeconfig="$conf" --authorization-kubeconfig="$conf"
}
