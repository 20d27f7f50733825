package archiver

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/render"
)

// internalTLS is what the operator has observed of an Archiver's certificates for /internal.
type internalTLS struct {
	// has is set if the CRD of certificates exists. hold keeps certificates optional.
	has, hold bool
	state     *archiverstatus.InternalTLS
}

// internalTLS adds the Certificates of an Archiver to live. It also finds those of an Archiver that no longer has the
// field, so that they are deleted.
func (r *Reconciler) internalTLS(ctx context.Context, a *v1alpha1.Archiver, live map[childKey]client.Object) (out internalTLS, err error) {
	engines, _ := live[childKey{"Deployment", render.EngineName(a.Name)}].(*appsv1.Deployment)
	retrieval, _ := live[childKey{"Deployment", render.RetrievalName(a.Name)}].(*appsv1.Deployment)
	if a.Spec.InternalTLS == nil && (engines == nil || engines.Spec.Template.Annotations[v1alpha1.AnnotationInternalTLS] == "") {
		return out, nil
	}
	if out.has, err = r.issued.list(ctx, r.Client, certificate, a, live); err != nil || a.Spec.InternalTLS == nil {
		return out, err
	}
	out.hold = render.HoldInternalTLS(engines, retrieval)
	out.state = &archiverstatus.InternalTLS{Missing: !out.has, Held: out.hold, Certificates: map[string]archiverstatus.Certificate{}}
	for key, o := range live {
		if u, ok := o.(*unstructured.Unstructured); ok && key.kind == render.KindCertificate {
			out.state.Certificates[key.name] = certificateOf(u)
		}
	}
	return out, nil
}

// certificateOf returns the condition Ready of a Certificate.
func certificateOf(u *unstructured.Unstructured) (c archiverstatus.Certificate) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") // another program writes them
	for _, one := range conditions {
		fields, _ := one.(map[string]any)
		if fields["type"] == "Ready" {
			c.Ready = fields["status"] == "True"
			c.Message, _ = fields["message"].(string)
		}
	}
	return c
}
