{{- define "varve-operator.rules" -}}
- apiGroups: [varve.dev]
  resources: [archivers]
  verbs: [get, list, watch]
{{- end }}
{{- define "varve-operator.clusterRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
{{- end }}
