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

{{- /* Refuses to expose an archive beyond the cluster until somebody has chosen who may read it. The chart does not know the settings of an Archiver that it does not create. */ -}}
{{- define "varve.checkExposed" -}}
{{- $values := (index . 0).Values }}
{{- if and $values.archiver.create (not (dig "access" false ($values.archiver.spec.retrieval | default dict))) }}
{{- fail (printf "%s.enabled makes the archive readable from outside of the cluster, so you must choose who may read: set archiver.spec.retrieval.access; with {authenticators: [{anonymous: {}}]} everybody may read" (index . 1)) }}
{{- end }}
{{- end }}

{{- /* Whether the test pod can read: it has neither a token nor the certificate of the server's authority. */ -}}
{{- define "varve.testable" -}}
{{- $access := dig "access" dict (.Values.archiver.spec.retrieval | default dict) }}
{{- $open := not $access }}
{{- range $access.authenticators }}
{{- if hasKey . "anonymous" }}
{{- $open = true }}
{{- end }}
{{- end }}
{{- if and $open (not $access.tls) }}true{{ end }}
{{- end }}

{{- /* Whether readers send tokens of Kubernetes, which the pods check by TokenReviews. */ -}}
{{- define "varve.reviewsTokens" -}}
{{- range (dig "access" dict (.Values.archiver.spec.retrieval | default dict)).authenticators }}
{{- if hasKey . "kubernetes" }}true{{ end }}
{{- end }}
{{- end }}

{{- /* Names of namespaces and Archivers have no colons, so this name is unique in the cluster. */ -}}
{{- define "varve.tokenReview" -}}
varve:token-review:{{ .Release.Namespace }}:{{ include "varve.archiver" . }}
{{- end }}
