#!/usr/bin/env bash
# Prints the path of another project's CRD. The CRD is in that project's Go module, which is
# downloaded into Go's module cache once. It is not a dependency of this module.
#
#   hack/crd.sh ScaledObject | CassandraDatacenter | K8ssandraCluster | Certificate
set -euo pipefail

case ${1:-} in
  ScaledObject)
    module=github.com/kedacore/keda/v2@v2.21.0 path=config/crd/bases/keda.sh_scaledobjects.yaml ;;
  CassandraDatacenter)
    module=github.com/k8ssandra/cass-operator@v1.31.0 path=config/crd/bases/cassandra.datastax.com_cassandradatacenters.yaml ;;
  K8ssandraCluster)
    module=github.com/k8ssandra/k8ssandra-operator@v1.20.0 path=config/crd/bases/k8ssandra.io_k8ssandraclusters.yaml ;;
  Certificate)
    module=github.com/cert-manager/cert-manager@v1.21.2 path=deploy/crds/cert-manager.io_certificates.yaml ;;
  *) sed -n '2,/^set/s/^#\( \|$\)//p' "$0" >&2; exit 2 ;;
esac

cd / # outside this module, so that its go.mod does not change
dir=$(GOFLAGS='' GOWORK=off go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
[[ -f $dir/$path ]] || { echo "${0##*/}: $module does not contain $path" >&2; exit 1; }
echo "$dir/$path"
