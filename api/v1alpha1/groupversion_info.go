// Package v1alpha1 defines the custom resources of varve.dev: the specs that users write and the
// status that the operator reports.
//
//	YAML ──▶ OpenAPI schema ──▶ CEL rules ──▶ ArchiveGroup ──▶ groups/compile ──▶ ArchiveShard
//	         └── generated from ──┘         Archiver ──▶ controllers/render ──▶ pods    │
//	             markers, in charts                                agent in an engine ◀──────┘
//
// The same generated schema checks objects in a cluster and files that groups/manifest reads, so
// both give the same messages. Fields that Varve does not support yet are in the schema, and a
// rule refuses each of them: nothing is silently ignored.
//
// +kubebuilder:object:generate=true
// +groupName=varve.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the types of this package.
var GroupVersion = schema.GroupVersion{Group: "varve.dev", Version: "v1alpha1"}

// Kinds of objects.
const (
	KindArchiver      = "Archiver"
	KindArchiveGroup  = "ArchiveGroup"
	KindArchiveShard  = "ArchiveShard"
	KindArchivePolicy = "ArchivePolicy"

	KindArchiveBackup         = "ArchiveBackup"
	KindArchiveBackupSchedule = "ArchiveBackupSchedule"
	KindArchiveRestore        = "ArchiveRestore"
)

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Archiver{}, &ArchiverList{},
		&ArchiveGroup{}, &ArchiveGroupList{},
		&ArchiveShard{}, &ArchiveShardList{},
		&ArchivePolicy{}, &ArchivePolicyList{},
		&ArchiveBackup{}, &ArchiveBackupList{},
		&ArchiveBackupSchedule{}, &ArchiveBackupScheduleList{},
		&ArchiveRestore{}, &ArchiveRestoreList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
