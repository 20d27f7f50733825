{{- define "varve.archiver" -}}
{{- $name := .Values.archiver.name | default .Release.Name }}
{{- if not (regexMatch "^[a-z][-a-z0-9]{0,39}$" $name) }}
{{- fail (printf "archiver.name: %q is not a valid name of an Archiver: it must have at most 40 lower-case letters, digits and '-', and start with a letter" $name) }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "varve.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: varve
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* The operator creates this Service. */ -}}
{{- define "varve.service" -}}
{{ include "varve.archiver" . }}-retrieval
{{- end }}

{{- define "varve.credentials" -}}
{{ include "varve.archiver" . }}-cassandra
{{- end }}

{{- define "varve.testImage" -}}
{{- .Values.test.image | default .Values.archiver.spec.image | default (printf "varve.dev/varve:%s" .Chart.AppVersion) }}
{{- end }}
