package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

var _ = Describe("An object that no operator has seen", func() {
	It("is in progress, and not ready, for tools that wait by kstatus", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for kind, o := range map[string]client.Object{
			v1alpha1.KindArchiver: newArchiver(namespace, "main"),
			v1alpha1.KindArchiveGroup: &v1alpha1.ArchiveGroup{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vacuum"},
				Spec: v1alpha1.ArchiveGroupSpec{
					ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Channels: []v1alpha1.Channel{{Name: "SR:P"}},
				},
			},
			"ArchivePolicy":            newPolicy(namespace, "vac", "SR:VAC:", "vacuum"),
			v1alpha1.KindArchiveBackup: newBackup(namespace, "before", v1alpha1.RetainData),
			v1alpha1.KindArchiveBackupSchedule: &v1alpha1.ArchiveBackupSchedule{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly"},
				Spec: v1alpha1.ArchiveBackupScheduleSpec{Schedule: "30 1 * * *", Template: v1alpha1.BackupTemplate{
					ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: onVolume,
				}},
			},
			v1alpha1.KindArchiveRestore: &v1alpha1.ArchiveRestore{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "after"},
				Spec: v1alpha1.ArchiveRestoreSpec{
					ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Source: onVolume, BackupName: "before-1a2b3c4d",
				},
			},
		} {
			Expect(k8s.Create(ctx, o)).To(Succeed())
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			Expect(err).NotTo(HaveOccurred())
			u := &unstructured.Unstructured{Object: fields}
			u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
			Expect(status.Compute(u)).To(HaveField("Status", status.InProgressStatus), kind)
		}
	})
})
