package charts_test

import (
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/charts"
)

// The API server refuses a CRD whose CEL rules do not compile or whose estimated cost is
// over its budget. This test runs the API server's own validation.
func TestAPIServerAcceptsArchiveGroup(t *testing.T) {
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(charts.ArchiveGroupCRD, &external); err != nil {
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

// kubectl apply keeps a copy of the object in an annotation, which holds at most 256 KiB.
func TestArchiveGroupFitsIntoAnAnnotation(t *testing.T) {
	info, err := os.Stat("varve-operator/files/crds/varve.dev_archivegroups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 200<<10 {
		t.Errorf("the CRD has %d bytes, want at most 200 KiB", info.Size())
	}
}
