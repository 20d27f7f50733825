package render

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestPodsRequireCertificatesOnlyAfterAllHaveOne follows the Deployments of an upgrade from no certificates to required ones.
func TestPodsRequireCertificatesOnlyAfterAllHaveOne(t *testing.T) {
	three := int32(3)
	deployment := func(mode string, generation, observed int64, updated, replicas int32) *appsv1.Deployment {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &three}}
		d.Generation = generation
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: observed, UpdatedReplicas: updated, Replicas: replicas}
		if mode != "" {
			d.Spec.Template.Annotations = map[string]string{v1alpha1.AnnotationInternalTLS: mode}
		}
		return d
	}
	done := deployment("Optional", 2, 2, 3, 3)
	for name, c := range map[string]struct {
		engines, retrieval *appsv1.Deployment
		hold               bool
	}{
		"a new Archiver":                          {nil, nil, false},
		"an embedded one":                         {done, nil, false},
		"all pods have certificates":              {done, done, false},
		"pods without certificates":               {deployment("", 1, 1, 3, 3), done, true},
		"retrieval pods without certificates":     {done, deployment("", 1, 1, 3, 3), true},
		"the controller has not seen the change":  {deployment("Optional", 2, 1, 3, 3), done, true},
		"one new pod of three":                    {deployment("Optional", 2, 2, 1, 4), done, true},
		"an old pod still runs":                   {deployment("Optional", 2, 2, 3, 4), done, true},
		"pods are missing":                        {deployment("Optional", 2, 2, 2, 2), done, true},
		"engines are being changed to Required":   {deployment("Required", 3, 3, 1, 4), done, false},
		"required everywhere, with a new version": {deployment("Required", 4, 3, 3, 3), deployment("Required", 4, 3, 3, 3), false},
	} {
		if got := HoldInternalTLS(c.engines, c.retrieval); got != c.hold {
			t.Errorf("%s: hold is %t", name, got)
		}
	}
}

// TestHeldPodsAcceptPodsWithoutCertificates renders an Archiver that requires certificates before and after its pods have them.
func TestHeldPodsAcceptPodsWithoutCertificates(t *testing.T) {
	a := load(t, "testdata/everything.in.yaml")
	for hold, mode := range map[bool]string{true: "Optional", false: "Required"} {
		in := Input{Archiver: a, OperatorNamespace: "varve-system", HoldInternalTLS: hold}
		for component, template := range map[string]struct {
			args        []string
			annotations map[string]string
		}{
			"engine":    {engineDeployment(in).Spec.Template.Spec.Containers[0].Args, engineDeployment(in).Spec.Template.Annotations},
			"retrieval": {retrievalDeployment(in).Spec.Template.Spec.Containers[0].Args, retrievalDeployment(in).Spec.Template.Annotations},
		} {
			if got := template.annotations[v1alpha1.AnnotationInternalTLS]; got != mode {
				t.Errorf("%s, hold %t: the pods say %q", component, hold, got)
			}
			if got := slices.Contains(template.args, "--internal-tls-optional"); got != hold {
				t.Errorf("%s, hold %t: %q", component, hold, template.args)
			}
		}
	}
}
