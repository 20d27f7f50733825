package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("The Secret of the engines' user of managed Cassandra", func() {
	It("is made again if it is lost, and the schema Job then sets the new password", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		apply(ctx, object(namespace, managedArchiver, "", ""), "git")
		password := func(name string) string {
			GinkgoHelper()
			var s corev1.Secret
			Expect(k8s.Get(ctx, key(namespace, name), &s)).To(Succeed())
			return string(s.Data["password"])
		}
		lose := func(name string) {
			GinkgoHelper()
			Expect(k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
		}
		schemaJob := func() (found string) {
			GinkgoHelper()
			reconcileOnce(ctx, namespace, "main") // like a restarted operator
			var jobs batchv1.JobList
			list(ctx, namespace, &jobs)
			for i := range jobs.Items {
				if jobs.Items[i].DeletionTimestamp == nil {
					Expect(found).To(BeEmpty(), "there are two Jobs")
					found = jobs.Items[i].Name
				}
			}
			return found
		}
		const role, superuser = "main-cassandra-role", "main-cassandra-superuser"
		first := schemaJob()
		Expect(first).To(HavePrefix("main-schema-"))
		Expect(schemaJob()).To(Equal(first))

		old := password(role)
		lose(role)
		second := schemaJob()
		Expect(second).NotTo(Equal(first))
		Expect(password(role)).NotTo(Equal(old))
		Expect(schemaJob()).To(Equal(second))

		By("losing a Secret whose password the schema Job does not set")
		lose(superuser)
		Expect(schemaJob()).To(Equal(second))
	})
})
