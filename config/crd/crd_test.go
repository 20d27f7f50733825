package crd_test

import (
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/config/crd"
)

// An API server refuses a CRD whose rules do not compile, or whose estimated
// cost is over its budget. Here it is the same code that decides.
func TestAPIServerAcceptsArchiveGroup(t *testing.T) {
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.ArchiveGroup, &external); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	external.Status.StoredVersions = []string{"v1alpha1"} // as at creation
	var internal apiextensions.CustomResourceDefinition
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, &internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), &internal) {
		t.Error(err)
	}
}

// kubectl apply keeps a copy in an annotation, whose limit is 256 KiB.
func TestArchiveGroupFitsIntoAnAnnotation(t *testing.T) {
	info, err := os.Stat("varve.dev_archivegroups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 200<<10 {
		t.Errorf("the CRD has %d bytes", info.Size())
	}
}
