{{- define "varve-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of the release, followed by the name of the chart unless the release's name contains it. */ -}}
{{- define "varve-operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "varve-operator.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The names of cluster-scoped objects contain the namespace. */ -}}
{{- define "varve-operator.clusterName" -}}
{{- if eq .Release.Namespace (include "varve-operator.fullname" .) }}
{{- .Release.Namespace }}
{{- else }}
{{- printf "%s-%s" .Release.Namespace (include "varve-operator.fullname" .) }}
{{- end }}
{{- end }}

{{- define "varve-operator.selector" -}}
app.kubernetes.io/name: {{ include "varve-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "varve-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "varve-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: varve
{{- end }}

{{- define "varve-operator.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion | toJson | trimAll "\"") }}
{{- end }}
{{- end }}

{{- define "varve-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "varve-operator.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "varve-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "varve-operator.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
