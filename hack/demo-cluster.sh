#!/usr/bin/env bash
# Runs a demo of Varve on a Kubernetes cluster, with a real IOC and a real Cassandra:
#
#   IOC (EPICS base) ──CA──▶ engines ──▶ Cassandra ──▶ retrieval ──HTTP──▶ you
#                                           ▲
#        operator ──CassandraDatacenter──▶ cass-operator
#
#   demo-cluster.sh up IMAGE FILE   start the demo; FILE is the archive of the image (make image)
#   demo-cluster.sh down            stop the demo and its cluster
#
# `make demo-cluster` builds the image and starts the demo. The IOC runs on this machine, at the
# machine's address in the cluster's network; everything else runs in the cluster. If no Python
# environment can be created, varve simulates the IOC. DEMO_HEAP is Cassandra's heap (512Mi).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cluster=$here/cluster/cluster.sh
dir=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}/demo-cluster

die() { echo "demo-cluster.sh: $*" >&2; exit 1; }
step() { echo "=== $*"; }
usage() { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }

# wait_for SECONDS WHAT COMMAND... repeats the command until it succeeds, or fails with a message.
wait_for() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || die "$what: timed out; the cluster is still running, so that you can inspect it"
    sleep 0.5
  done
}

# start_ioc starts an IOC on port 5064 and lists its PVs in the file pvs.
start_ioc() {
  local python
  if alive; then return; fi
  if python=$("$here/venv.sh" epics); then
    "$python" "$here/demo-cluster/ioc.py" >"$dir/ioc.db"
    sed -n 's/^record([a-z]*, "\(.*\)").*/\1/p' "$dir/ioc.db" | grep -v ':CALC$' >"$dir/pvs"
    # An IOC exits at the end of its input, so its input is a pipe that stays open for writing.
    [[ -p $dir/stdin ]] || mkfifo "$dir/stdin"
    EPICS_CAS_INTF_ADDR_LIST=$VARVE_HOST_IP EPICS_CAS_SERVER_PORT=5064 \
      EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1 EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO \
      EPICS_PVAS_INTF_ADDR_LIST=$VARVE_HOST_IP EPICS_PVAS_AUTO_BEACON_ADDR_LIST=NO EPICS_PVAS_BEACON_ADDR_LIST=127.0.0.1 \
      setsid "$python" -u -m pvxslibs.ioc -d "$dir/ioc.db" <>"$dir/stdin" >"$dir/ioc.log" 2>&1 &
  else
    step "there is no Python environment: varve simulates the IOC"
    printf 'SIM:%s\n' {RAMP,SINE,NOISE,ENUM,ALARM}:00{00..19} >"$dir/pvs"
    setsid "$root/bin/varve" ioc --listen "$VARVE_HOST_IP:5064" --rate 2 >"$dir/ioc.log" 2>&1 </dev/null &
  fi
  echo $! >"$dir/ioc.pid"
}

alive() { [[ -s $dir/ioc.pid ]] && grep -qsaE 'pvxslibs|varve' "/proc/$(<"$dir/ioc.pid")/cmdline"; }

install_charts() {
  local image=$1
  "$helm" upgrade --install varve-operator "$root/charts/varve-operator" -n varve-system --create-namespace --wait --timeout 5m \
    --set "image.repository=${image%:*},image.tag=${image##*:},image.pullPolicy=IfNotPresent" >/dev/null
  "$helm" upgrade --install main "$root/charts/varve" -n archive --create-namespace -f - >/dev/null <<YAML
archiver:
  spec:
    engines: {replicas: 2}
    retrieval: {service: {type: NodePort}, access: {authenticators: [{anonymous: {}}]}}
    epics: {caAddrList: ["$VARVE_HOST_IP:5064"], autoAddrList: false}
    storage:
      cassandra:
        managed:
          size: 1
          storage: 4Gi
          heapSize: ${DEMO_HEAP:-512Mi}
          resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 2Gi}}
test: {enabled: false}
YAML
}

archive_url() {
  local node port
  node=$(kubectl get nodes -o 'jsonpath={.items[-1:].status.addresses[?(@.type=="InternalIP")].address}')
  port=$(kubectl -n archive get service main-retrieval -o 'jsonpath={.spec.ports[0].nodePort}')
  [[ -n $port ]] && echo "http://$node:$port"
}

has_samples() { [[ $("$root/bin/varve" get "$1" --url "$(archive_url)" --format csv | wc -l) -gt 2 ]]; }

up() {
  local image=$1 file=$2 pv
  helm=$("$here/tools.sh" helm)
  mkdir -p "$dir"
  step "cluster";   "$cluster" up
  "$cluster" env >"$dir/env"
  # shellcheck disable=SC1091
  source "$dir/env"
  step "image";     "$cluster" load "$file"
  step "IOC";       start_ioc
  step "cass-operator"; "$cluster" cassandra-operator
  step "operator and archive"; install_charts "$image"
  wait_for 600 "waiting for the archive and its Cassandra" kubectl -n archive wait --for=condition=Ready archiver/main --timeout=5s
  step "group"
  kubectl -n archive create configmap pumps --from-file=pvs.txt="$dir/pvs" --dry-run=client -o yaml |
    kubectl label --local -f - varve.dev/channels=source -o yaml | kubectl apply --server-side -f -
  kubectl -n archive apply -f "$here/demo-cluster/group.yaml"
  pv=$(head -n 1 "$dir/pvs")
  wait_for 120 "waiting for samples of $pv" has_samples "$pv"
  wait_for 120 "waiting for the group" kubectl -n archive wait --for=condition=Ready archivegroup/storage-ring-vacuum --timeout=5s
  kubectl -n archive get archivers,archivegroups,cassandradatacenters,pods
  explain "$pv"
}

explain() {
  cat <<TEXT

The archive has samples. To explore it:

  source $dir/env
  kubectl -n archive get archivers,archivegroups
  kubectl -n archive get archiveshards
  kubectl -n archive edit configmap pumps            # remove a PV and watch the group
  kubectl -n archive scale archiver main --replicas=3
  kubectl -n archive patch archiver main --type merge -p '{"spec":{"storage":{"cassandra":{"managed":{"size":2}}}}}'
  kubectl -n archive delete pod -l app.kubernetes.io/component=engine
  bin/varve status --url $(archive_url)
  bin/varve get $1 --from -5m --url $(archive_url)
  $(archive_url)/retrieval/data/getData.json?pv=$1

To stop the demo: make demo-cluster-down
TEXT
}

down() {
  if alive; then kill -KILL "$(<"$dir/ioc.pid")"; fi
  "$cluster" down
  rm -rf "$dir"
}

case ${1:-}:$# in
  up:3)   up "$2" "$3" ;;
  down:1) down ;;
  *) usage ;;
esac
