// Package crd has the generated custom resource definitions, so that files can
// be checked by the same schema as objects in a cluster:
//
//	api/v1alpha1 ──▶ controller-gen ──▶ *.yaml ──▶ groups/manifest
package crd

import _ "embed"

// ArchiveGroup is the CustomResourceDefinition of ArchiveGroup, as YAML.
//
//go:embed varve.dev_archivegroups.yaml
var ArchiveGroup []byte
