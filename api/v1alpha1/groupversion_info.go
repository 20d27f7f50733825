// Package v1alpha1 has the custom resources of varve.dev: what users write and
// what the operator tells them.
//
//	YAML ──▶ OpenAPI schema ──▶ CEL rules ──▶ ArchiveGroup ──▶ groups/compile ──▶ ArchiveShard
//	         └── config/crd, made from ───┘     Archiver ──▶ controllers/render ──▶ pods    │
//	             the markers here                                  agent in an engine ◀──────┘
//
// The same generated schema checks objects in a cluster and files read by
// groups/manifest, so both give the same messages. Fields that Varve does
// not act on yet are in the schema and refused by rules that say so: nothing is
// silently ignored.
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
	KindArchiver     = "Archiver"
	KindArchiveGroup = "ArchiveGroup"
	KindArchiveShard = "ArchiveShard"
)

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Archiver{}, &ArchiverList{},
		&ArchiveGroup{}, &ArchiveGroupList{},
		&ArchiveShard{}, &ArchiveShardList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
