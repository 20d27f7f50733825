#!/usr/bin/env bash
# Runs a real Apache Cassandra on loopback, from its Maven jars. It needs java (17 or newer), and
# mvn for the first fetch.
#
#   cassandra.sh fetch              download the jars once, and print their folder
#   cassandra.sh start N [YAML...]  start node N in the background, on 127.0.0.N; the YAML
#                                   lines are added to cassandra.yaml
#   cassandra.sh run N [YAML...]    start node N in the foreground
#   cassandra.sh wait N             wait until node N serves CQL
#   cassandra.sh stop N             shut node N down
#   cassandra.sh kill N             kill node N
#   cassandra.sh nodetool N ARGS... run nodetool on node N
#
# Environment:
#   VARVE_CACHE         folder for the jars            (~/.cache/varve)
#   CASSANDRA_DIR       folder for the nodes' files    ($VARVE_CACHE/cassandra-nodes)
#   CASSANDRA_HEAP      Java heap of a node            (512M)
#   CASSANDRA_JAVA      additional options of java, which override jvm.options
#   CASSANDRA_PORT, CASSANDRA_STORAGE_PORT             (9042, 7000)
#   CASSANDRA_JMX_PORT                                 (7199 + N)
#   CASSANDRA_ADDRESS   address to listen on           (127.0.0.N)
#   CASSANDRA_SEEDS     addresses of seed nodes        (127.0.0.1)
set -euo pipefail

version=5.0.9
here=$(cd "$(dirname "$0")" && pwd)
cache=${VARVE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/varve}
lib=$cache/cassandra-$version
heap=${CASSANDRA_HEAP:-512M}

die() { echo "cassandra.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2; }

java_bin() {
  local java major
  java=$(command -v java) || die "java is not on PATH; install a JDK or JRE, 17 or newer"
  major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
  [[ ${major:-0} -ge 17 ]] || die "java is version ${major:-unknown}; Cassandra $version needs 17 or newer"
  echo "$java"
}

fetch() {
  if [[ -e $lib/complete ]]; then return; fi
  command -v mvn >/dev/null || die "mvn is not on PATH; install Maven to fetch Cassandra"
  mkdir -p "$cache"
  (
    flock 9
    [[ -e $lib/complete ]] || fetch_jars # another caller may have downloaded them in the meantime
  ) 9>"$lib.lock"
}

fetch_jars() {
  local attempt
  for attempt in 1 2 3; do
    echo "fetching Cassandra $version" >&2
    rm -rf "$lib"
    if mvn --batch-mode --quiet -f "$here/pom.xml" -Dcassandra.version="$version" -DincludeScope=runtime \
      -DoutputDirectory="$lib" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies >&2; then
      touch "$lib/complete"
      return
    fi
    sleep $((attempt * 5))
  done
  die "fetching Cassandra $version failed three times"
}

# configure LINE... writes the configuration of node $n, with additional lines.
configure() {
  mkdir -p "$dir"/{data,commitlog,hints,saved_caches,cdc_raw,conf}
  cp "$here/logback.xml" "$dir/conf/"
  cat >"$dir/conf/cassandra.yaml" <<YAML
cluster_name: varve-test
num_tokens: 16
allocate_tokens_for_local_replication_factor: 3
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
dynamic_snitch: false
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "${CASSANDRA_SEEDS:-127.0.0.1}"}]
listen_address: $ip
rpc_address: $ip
native_transport_port: $port
storage_port: ${CASSANDRA_STORAGE_PORT:-7000}
data_file_directories: [$dir/data]
commitlog_directory: $dir/commitlog
hints_directory: $dir/hints
saved_caches_directory: $dir/saved_caches
cdc_raw_directory: $dir/cdc_raw
disk_optimization_strategy: ssd
disk_failure_policy: stop
commit_failure_policy: stop
concurrent_compactors: 1
commitlog_segment_size: 32MiB
auto_snapshot: false
key_cache_size: 0MiB
# Without it, Cassandra refuses rows that expire after 2038-01, and tables cannot use tries.
storage_compatibility_mode: NONE
sstable: {selected_format: bti}
memtable_allocation_type: offheap_objects
memtable:
  configurations:
    skiplist: {class_name: SkipListMemtable}
    trie: {class_name: TrieMemtable}
    default: {inherits: trie}
YAML
  # A periodic commit log is marked every 100 ms, so kill -9 of the only replica loses later
  # acknowledged writes. Tests that kill nodes set another commitlog_sync.
  if [[ $* != *commitlog_sync:* ]]; then set -- "commitlog_sync: periodic" "commitlog_sync_period: 10s" "$@"; fi
  local line
  for line; do sed -i "/^${line%%:*}:/d" "$dir/conf/cassandra.yaml"; done # each key must appear once
  printf '%s\n' "$@" >>"$dir/conf/cassandra.yaml"
}

# command_line CLASS ARG... sets cmd to the command that runs a class of Cassandra on node $n.
command_line() {
  local options
  mapfile -t options < <(grep -v '^#' "$here/jvm.options" | grep .)
  cmd=("$java" "${options[@]}" -Dcassandra.config="file://$dir/conf/cassandra.yaml"
    -Dlogback.configurationFile="$dir/conf/logback.xml" -Dcassandra.storagedir="$dir" -Dcassandra.logdir="$dir"
    -cp "$dir/conf:$lib/*" "$@")
}

# server_command LINE... configures node $n with additional lines, and sets cmd to the command that
# runs it.
server_command() {
  java=$(java_bin)
  fetch
  configure "$@"
  # shellcheck disable=SC2086 # words are options
  command_line -Xms"$heap" -Xmx"$heap" -XX:MaxDirectMemorySize="$heap" -javaagent:"$(echo "$lib"/jamm-*.jar)" \
    ${CASSANDRA_JAVA:-} -Dcassandra-foreground=yes -Dcassandra.jmx.local.port="$jmx" org.apache.cassandra.service.CassandraDaemon
}

alive() { [[ -e $dir/pid ]] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; }

wait_for_cql() {
  for ((i = 0; i < 1200; i++)); do
    if (exec 3<>"/dev/tcp/$ip/$port") 2>/dev/null; then return; fi
    if ! alive; then
      tail -n 20 "$dir/log" >&2
      die "node $n ended: see its log, $dir/log"
    fi
    sleep 0.25
  done
  die "node $n does not serve CQL after 5 min: see its log, $dir/log"
}

verb=${1:-} n=${2:-}
if [[ $verb == fetch ]]; then
  fetch
  echo "$lib"
  exit
fi
[[ $n =~ ^[1-9][0-9]?$ ]] || usage
shift 2
dir=${CASSANDRA_DIR:-$cache/cassandra-nodes}/$n
ip=${CASSANDRA_ADDRESS:-127.0.0.$n}
port=${CASSANDRA_PORT:-9042}
jmx=${CASSANDRA_JMX_PORT:-$((7199 + n))}

case $verb in
  run)
    server_command "$@"
    exec "${cmd[@]}" ;;
  start)
    if alive; then die "node $n is already running"; fi
    server_command "$@"
    setsid "${cmd[@]}" >"$dir/log" 2>&1 </dev/null &
    echo $! >"$dir/pid" ;;
  wait) wait_for_cql ;;
  stop)
    if alive; then kill "$(cat "$dir/pid")"; fi
    while alive; do sleep 0.2; done ;;
  kill) if alive; then kill -9 "$(cat "$dir/pid")"; fi ;;
  nodetool)
    java=$(java_bin)
    command_line -Xmx128m -XX:TieredStopAtLevel=1 -Dvarve.loglevel=WARN org.apache.cassandra.tools.NodeTool -h 127.0.0.1 -p "$jmx" "$@"
    exec "${cmd[@]}" ;;
  *) usage ;;
esac
