package controllers_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Rights", func() {
	It("of engines and retrieval pods are small", func(ctx SpecContext) {
		namespace, other := newNamespace(ctx), newNamespace(ctx)
		startArchivers(namespace)
		create(ctx, newArchiver(namespace, "main"))
		for account, needed := range map[string]string{
			"main-engine": "get configmaps; get archiveshards.varve.dev; list archiveshards.varve.dev; watch archiveshards.varve.dev; " +
				"patch archiveshards.varve.dev/status; get leases.coordination.k8s.io; create leases.coordination.k8s.io; update leases.coordination.k8s.io",
			"main-retrieval": "get configmaps; list archiveshards.varve.dev; watch archivegroups.varve.dev; list archivepolicies.varve.dev; watch archivepolicies.varve.dev; list pods; watch pods",
		} {
			user := "system:serviceaccount:" + namespace + ":" + account
			for right := range strings.SplitSeq(needed, "; ") {
				Eventually(func() bool { return may(ctx, user, namespace, right) }).Should(BeTrue(), "%s: %s", account, right)
				Expect(may(ctx, user, other, right)).To(BeFalse(), "%s: %s in another namespace", account, right)
			}
			for right := range strings.SplitSeq("get secrets; list secrets; list configmaps; watch configmaps; create configmaps; patch configmaps; delete configmaps; "+
				"create pods; delete pods; create pods/exec; create serviceaccounts/token; patch deployments.apps; create roles.rbac.authorization.k8s.io; "+
				"update archiveshards.varve.dev; patch archiveshards.varve.dev; delete archiveshards.varve.dev; patch archivegroups.varve.dev; "+
				"patch archivers.varve.dev; get archivers.varve.dev; patch archivepolicies.varve.dev; delete archivepolicies.varve.dev; delete leases.coordination.k8s.io; create tokenreviews.authentication.k8s.io", "; ") {
				Expect(may(ctx, user, namespace, right)).To(BeFalse(), "%s: %s", account, right)
			}
		}
		Expect(may(ctx, "system:serviceaccount:"+namespace+":main-engine", namespace, "list pods")).To(BeFalse())
		Expect(may(ctx, "system:serviceaccount:"+namespace+":main-retrieval", namespace, "patch archiveshards.varve.dev/status")).To(BeFalse())
	})

	It("of the operator do not let it get further rights", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		grantOperator(ctx, namespace)
		user := "system:serviceaccount:" + namespace + ":varve-operator"
		Eventually(func() bool { return may(ctx, user, namespace, "create roles.rbac.authorization.k8s.io") }).Should(BeTrue())
		for right := range strings.SplitSeq("get secrets; list secrets; watch secrets; patch secrets; update secrets; delete secrets; "+
			"update configmaps; create pods; delete pods; create pods/exec; create serviceaccounts/token; impersonate serviceaccounts; "+
			"bind roles.rbac.authorization.k8s.io; escalate roles.rbac.authorization.k8s.io; bind clusterroles.rbac.authorization.k8s.io; "+
			"create clusterroles.rbac.authorization.k8s.io; create clusterrolebindings.rbac.authorization.k8s.io; delete clusterrolebindings.rbac.authorization.k8s.io; "+
			"create archivers.varve.dev; patch archivers.varve.dev; delete archivers.varve.dev; create archivegroups.varve.dev; delete archivegroups.varve.dev; patch archivepolicies.varve.dev; delete archivepolicies.varve.dev; "+
			"create archivebackupschedules.varve.dev; patch archivebackupschedules.varve.dev; create archiverestores.varve.dev; patch archiverestores.varve.dev; delete archiverestores.varve.dev; "+
			"delete persistentvolumeclaims; delete customresourcedefinitions.apiextensions.k8s.io; create tokenreviews.authentication.k8s.io", "; ") {
			Expect(may(ctx, user, namespace, right)).To(BeFalse(), right)
		}

		cfg := rest.CopyConfig(restConfig)
		cfg.Impersonate.UserName = user
		operator, err := client.New(cfg, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "more"}
		Expect(operator.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"},
		}}})).To(MatchError(ContainSubstring("attempting to grant RBAC permissions not currently held")))
		Expect(operator.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "varve-operator"}},
		})).To(MatchError(ContainSubstring("attempting to grant RBAC permissions not currently held")))
	})
})

// may asks the API server whether a user has a right, such as "patch archiveshards.varve.dev/status", in a
// namespace.
func may(ctx SpecContext, user, namespace, right string) bool {
	GinkgoHelper()
	verb, resource, _ := strings.Cut(right, " ")
	resource, subresource, _ := strings.Cut(resource, "/")
	resource, group, _ := strings.Cut(resource, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		},
	}}
	Expect(k8s.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}
