{{- /* From config/rbac/role.yaml, by hack/charts.sh: do not edit. */ -}}
{{- define "varve-operator.rules" -}}
- apiGroups:
  - ""
  resources:
  - configmaps
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - ""
  resources:
  - events
  verbs:
  - list
- apiGroups:
  - ""
  resources:
  - persistentvolumeclaims
  verbs:
  - create
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
  - list
  - patch
  - watch
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - create
- apiGroups:
  - ""
  resources:
  - serviceaccounts
  - services
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - apps
  resources:
  - deployments
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - autoscaling
  resources:
  - horizontalpodautoscalers
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - batch
  resources:
  - jobs
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - cassandra.datastax.com
  resources:
  - cassandradatacenters
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - cert-manager.io
  resources:
  - certificates
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - create
  - get
  - list
  - update
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch
- apiGroups:
  - k8ssandra.io
  resources:
  - k8ssandraclusters
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - monitoring.coreos.com
  resources:
  - servicemonitors
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - networking.k8s.io
  resources:
  - networkpolicies
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - policy
  resources:
  - poddisruptionbudgets
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - rolebindings
  - roles
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - varve.dev
  resources:
  - archivebackups
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - varve.dev
  resources:
  - archivebackups/finalizers
  - archivegroups/finalizers
  - archiverestores/finalizers
  - archivers/finalizers
  verbs:
  - update
- apiGroups:
  - varve.dev
  resources:
  - archivebackups/status
  - archivebackupschedules/status
  - archivegroups/status
  - archivepolicies/status
  - archiverestores/status
  - archivers/status
  - archiveshards/status
  verbs:
  - get
  - patch
  - update
- apiGroups:
  - varve.dev
  resources:
  - archivebackupschedules
  - archivepolicies
  - archiverestores
  - archivers
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - varve.dev
  resources:
  - archivegroups
  verbs:
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - varve.dev
  resources:
  - archiveshards
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
{{- end }}
{{- define "varve-operator.clusterRules" -}}
- apiGroups:
  - ""
  resources:
  - nodes
  verbs:
  - get
- apiGroups:
  - apiextensions.k8s.io
  resourceNames:
  - archivegroups.varve.dev
  - archivepolicies.varve.dev
  resources:
  - customresourcedefinitions
  verbs:
  - get
{{- end }}
