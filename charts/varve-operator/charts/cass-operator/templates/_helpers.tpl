{{- define "cass-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of the release, followed by the name of the chart unless the release's name contains it. */ -}}
{{- define "cass-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "cass-operator.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The names of cluster-scoped objects contain the namespace. */ -}}
{{- define "cass-operator.clusterName" -}}
{{- if eq .Release.Namespace (include "cass-operator.fullname" .) }}
{{- .Release.Namespace }}
{{- else }}
{{- printf "%s-%s" .Release.Namespace (include "cass-operator.fullname" .) }}
{{- end }}
{{- end }}

{{- define "cass-operator.selector" -}}
app.kubernetes.io/name: {{ include "cass-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cass-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "cass-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cass-operator.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default (printf "v%s" .Chart.AppVersion)) }}
{{- end }}

{{- define "cass-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "cass-operator.fullname" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* The operator's ImageConfig: the configuration of its module, changed by the values. */ -}}
{{- define "cass-operator.imageConfig" -}}
{{- $given := .Values.imageConfig }}
{{- $upstream := include "cass-operator.images" . | fromYaml }}
{{- $overrides := dict }}
{{- if $given.registry }}{{ $_ := set $overrides "registry" $given.registry }}{{ end }}
{{- if not (kindIs "invalid" $given.repository) }}{{ $_ := set $overrides "repository" $given.repository }}{{ end }}
{{- if $given.pullSecrets }}{{ $_ := set $overrides "pullSecrets" $given.pullSecrets }}{{ end }}
{{- $config := dict "apiVersion" "config.k8ssandra.io/v1beta2" "kind" "ImageConfig" "metadata" (dict "name" "image-config") }}
{{- $_ := set $config "defaults" (dict "pullPolicy" $given.pullPolicy) }}
{{- $_ := set $config "images" (mergeOverwrite $upstream.images $given.images) }}
{{- $_ := set $config "types" (mergeOverwrite $upstream.types $given.types) }}
{{- with $overrides }}{{ $_ := set $config "overrides" . }}{{ end }}
{{- toYaml $config }}
{{- end }}
