// Package charts holds the Helm charts. It embeds the CRDs that the chart varve-operator
// installs. Varve checks manifests in files against them, as the API server checks objects:
//
//	api/v1alpha1 ──▶ controller-gen ──▶ varve-operator/files/crds ──┬─▶ Helm ──▶ API server
//	                                                                └─▶ groups/manifest
package charts

import _ "embed"

// ArchiveGroupCRD is the CustomResourceDefinition of ArchiveGroup, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archivegroups.yaml
var ArchiveGroupCRD []byte

// ArchivePolicyCRD is the CustomResourceDefinition of ArchivePolicy, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archivepolicies.yaml
var ArchivePolicyCRD []byte

// ArchiverCRD is the CustomResourceDefinition of Archiver, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archivers.yaml
var ArchiverCRD []byte

// ArchiveShardCRD is the CustomResourceDefinition of ArchiveShard, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archiveshards.yaml
var ArchiveShardCRD []byte

// ArchiveBackupCRD is the CustomResourceDefinition of ArchiveBackup, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archivebackups.yaml
var ArchiveBackupCRD []byte

// ArchiveBackupScheduleCRD is the CustomResourceDefinition of ArchiveBackupSchedule, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archivebackupschedules.yaml
var ArchiveBackupScheduleCRD []byte

// ArchiveRestoreCRD is the CustomResourceDefinition of ArchiveRestore, as YAML.
//
//go:embed varve-operator/files/crds/varve.dev_archiverestores.yaml
var ArchiveRestoreCRD []byte
