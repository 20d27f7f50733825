{{- /* From config/imageconfig of cass-operator's module, by hack/charts.sh: do not edit. */ -}}
{{- define "cass-operator.images" -}}
images:
  config-builder:
    name: cass-config-builder
    repository: datastax
    tag: 1.0-ubi
  k8ssandra-client:
    name: k8ssandra-client
    repository: k8ssandra
    tag: v0.8.12
  system-logger:
    name: system-logger
    repository: k8ssandra
    tag: v1.31.0
types:
  cassandra:
    name: cass-management-api
    repository: k8ssandra
    suffix: -ubi
  dse:
    name: dse-mgmtapi-6_8
    repository: datastax
    suffix: -ubi
{{- end }}
