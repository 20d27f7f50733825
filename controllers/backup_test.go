package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers"
	"varve.dev/varve/controllers/backup"
	"varve.dev/varve/controllers/render"
)

// onVolume is a folder of a volume.
var onVolume = v1alpha1.BackupDestination{PersistentVolumeClaim: &v1alpha1.BackupVolumeClaim{ClaimName: "backups"}}

func newBackup(namespace, name string, policy v1alpha1.DeletionPolicy) *v1alpha1.ArchiveBackup {
	return &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ArchiveBackupSpec{
		ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: onVolume, DeletionPolicy: policy,
	}}
}

var _ = Describe("Backups", func() {
	var (
		namespace string
		registry  *prometheus.Registry
		now       time.Time // of schedules
	)
	BeforeEach(func(ctx SpecContext) {
		namespace, registry, now = newNamespace(ctx), prometheus.NewRegistry(), time.Time{}
	})

	// start starts the reconcilers of backups.
	start := func() {
		GinkgoHelper()
		mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
			Scheme: scheme, Cache: controllers.CacheOptions([]string{namespace}), Logger: logr.Discard(),
			Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		})
		Expect(err).NotTo(HaveOccurred())
		c := backup.Config{Client: mgr.GetClient(), API: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("varve-operator"), Registerer: registry, Image: "varve:test"}
		if !now.IsZero() {
			c.Now = func() time.Time { return now }
		}
		Expect(backup.Setup(mgr, c)).To(Succeed())
		run, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(done)
			Expect(mgr.Start(run)).To(Succeed())
		}()
		DeferCleanup(func() { cancel(); <-done })
	}
	// connect creates an Archiver whose storage is ready.
	connect := func(ctx context.Context, replicas int32) *v1alpha1.Archiver {
		GinkgoHelper()
		a := newArchiver(namespace, "main")
		a.Spec.Engines.Replicas = &replicas
		create(ctx, a)
		old := a.DeepCopy()
		a.Status = &v1alpha1.ArchiverStatus{Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionStorageReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConnected, LastTransitionTime: metav1.Now(),
		}}}
		Expect(k8s.Status().Patch(ctx, a, client.MergeFrom(old))).To(Succeed())
		return a
	}
	jobOf := func(ctx context.Context, o client.Object, verb string) *batchv1.Job {
		GinkgoHelper()
		job := &batchv1.Job{}
		Eventually(func() error { return k8s.Get(ctx, key(namespace, render.BackupJobName(o, verb)), job) }).Should(Succeed())
		return job
	}
	// end ends the pod and the Job, as Kubernetes would.
	end := func(ctx context.Context, job *batchv1.Job, code int32, message string) {
		GinkgoHelper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: job.Name, Labels: job.Spec.Template.Labels}, Spec: job.Spec.Template.Spec}
		pod.Labels[batchv1.JobNameLabel] = job.Name
		pod.Spec.Volumes, pod.Spec.Containers[0].VolumeMounts = nil, nil
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		ended := metav1.Now()
		if !now.IsZero() {
			ended = metav1.NewTime(now)
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: ended},
		}}}
		Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
		if code == 0 {
			job.Status = batchv1.JobStatus{StartTime: &ended, CompletionTime: &ended, Succeeded: 1, Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: ended},
			}}
		} else {
			job.Status = batchv1.JobStatus{StartTime: &ended, Failed: 1, Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue},
				{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: ended},
			}}
		}
		Expect(k8s.Status().Update(ctx, job)).To(Succeed())
	}
	state := func(ctx context.Context, o client.Object, kind string) func() string {
		return func() string {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err.Error()
			}
			var list []metav1.Condition
			switch o := o.(type) {
			case *v1alpha1.ArchiveBackup:
				list = o.Status.Conditions
			case *v1alpha1.ArchiveBackupSchedule:
				list = o.Status.Conditions
			case *v1alpha1.ArchiveRestore:
				list = o.Status.Conditions
			}
			c := meta.FindStatusCondition(list, kind)
			if c == nil {
				return ""
			}
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	gone := func(ctx context.Context, o client.Object) func() bool {
		return func() bool { return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)) }
	}
	events := func(ctx context.Context) func() string {
		return func() string {
			var all eventsv1.EventList
			list(ctx, namespace, &all)
			var notes []string
			for _, e := range all.Items {
				notes = append(notes, e.Reason+": "+e.Note)
			}
			return strings.Join(notes, "\n")
		}
	}

	// figure returns a metric of an archiver or a schedule.
	figure := func(metric, of string) func() float64 {
		return func() float64 {
			families, err := registry.Gather()
			Expect(err).NotTo(HaveOccurred())
			for _, f := range families {
				for _, m := range f.Metric {
					if f.GetName() == metric && m.Label[0].GetValue() == of {
						return m.GetGauge().GetValue()
					}
				}
			}
			return -1
		}
	}

	It("are made, verified and deleted by Jobs", func(ctx SpecContext) {
		start()
		connect(ctx, 3)
		b := newBackup(namespace, "before", v1alpha1.DeleteData)
		b.Spec.Verify = true
		Expect(k8s.Create(ctx, b)).To(Succeed())
		job := jobOf(ctx, b, render.CreateBackup)
		Expect(metav1.IsControlledBy(job, b)).To(BeTrue())
		pod := job.Spec.Template
		Expect(pod.Spec.Containers[0].Image).To(Equal("varve:test"))
		Expect(pod.Labels).To(And(HaveKeyWithValue(v1alpha1.LabelInstance, "main"), HaveKeyWithValue(v1alpha1.LabelName, "varve")))
		Eventually(state(ctx, b, v1alpha1.ConditionComplete)).Should(HavePrefix("False Running: "))
		Expect(b.Finalizers).To(ConsistOf(v1alpha1.BackupFinalizer))
		Expect(b.Status.BackupName).To(HavePrefix("before-"))

		end(ctx, job, 0, `{"name":"x","source":"keyspace k","end":"2026-11-27T01:40:00Z","completeUntil":"2026-11-27T01:30:00.5Z","rows":{"block":7},"pvs":3,"bytes":2048,"newBytes":1024}`)
		Eventually(state(ctx, b, v1alpha1.ConditionVerified)).Should(HavePrefix("Unknown Running: "))
		Expect(b.Status.BackupContent).To(And(HaveField("PVs", HaveValue(BeEquivalentTo(3))), HaveField("Size", "2.0 KiB"), HaveField("Source", "keyspace k")))
		end(ctx, jobOf(ctx, b, render.VerifyBackup), 0, `{"name":"x","end":"2026-11-27T01:40:00Z"}`)
		Eventually(state(ctx, b, v1alpha1.ConditionVerified)).Should(HavePrefix("True Whole: "))
		Expect(state(ctx, b, v1alpha1.ConditionComplete)()).To(HavePrefix("True Succeeded: "))
		Eventually(figure("varve_backup_last_success_timestamp_seconds", namespace+"/main")).Should(BeEquivalentTo(time.Date(2026, 11, 27, 1, 30, 0, 0, time.UTC).Unix()))

		By("refusing changes")
		b.Spec.Verify = false
		Expect(k8s.Update(ctx, b)).To(MatchError(ContainSubstring("spec.verify: Invalid value: verify cannot be changed: create another ArchiveBackup")))
		b.Spec.Verify, b.Spec.Destination.PersistentVolumeClaim.Path = true, "elsewhere"
		Expect(k8s.Update(ctx, b)).To(MatchError(ContainSubstring("destination cannot be changed")))

		By("deleting its files")
		Expect(k8s.Delete(ctx, b)).To(Succeed())
		remove := jobOf(ctx, b, render.DeleteBackup)
		Expect(remove.OwnerReferences).To(ConsistOf(And(HaveField("Kind", v1alpha1.KindArchiver), HaveField("Controller", Or(BeNil(), HaveValue(BeFalse()))))))
		Eventually(state(ctx, b, v1alpha1.ConditionReconciling)).Should(HavePrefix("True DeletingFiles: "))
		end(ctx, remove, 0, "")
		Eventually(gone(ctx, b)).Should(BeTrue())
		Eventually(events(ctx)).Should(And(ContainSubstring("FilesDeleted: The files of backup before-"), ContainSubstring("Succeeded: Complete is True: the backup is complete")))
	})

	It("say what the program said when a Job fails, and let go of a lost Archiver", func(ctx SpecContext) {
		start()
		b := newBackup(namespace, "lost", v1alpha1.DeleteData)
		Expect(k8s.Create(ctx, b)).To(Succeed())
		Eventually(state(ctx, b, v1alpha1.ConditionComplete)).Should(Equal(`False ArchiverNotFound: there is no Archiver "main" in this namespace`))
		a := connect(ctx, 1)
		edit(ctx, b, func() { b.Spec.DeletionPolicy = v1alpha1.RetainData }) // also makes the operator look again at once
		Eventually(state(ctx, b, v1alpha1.ConditionComplete)).Should(HavePrefix("False Running: "))
		end(ctx, jobOf(ctx, b, render.CreateBackup), 2, `{"name":"x","newPacks":0,"error":"opening Cassandra: no host is up"}`)
		Eventually(state(ctx, b, v1alpha1.ConditionStalled)).Should(And(HavePrefix("True Failed: "), ContainSubstring("opening Cassandra: no host is up")))
		Expect(state(ctx, b, v1alpha1.ConditionComplete)()).To(HavePrefix("False Failed: there is no backup: opening Cassandra"))
		Expect(b.Finalizers).To(BeEmpty())
		edit(ctx, b, func() { b.Spec.DeletionPolicy = v1alpha1.DeleteData })
		Eventually(func() []string { _ = k8s.Get(ctx, client.ObjectKeyFromObject(b), b); return b.Finalizers }).Should(HaveLen(1))
		Expect(k8s.Delete(ctx, a)).To(Succeed())
		Eventually(gone(ctx, a)).Should(BeTrue())
		Expect(k8s.Delete(ctx, b)).To(Succeed())
		Eventually(gone(ctx, b)).Should(BeTrue())
		Eventually(events(ctx)).Should(ContainSubstring("FilesNotDeleted: Archiver main no longer exists, so the files of backup lost-"))
	})

	It("do not hinder the deletion of their namespace", func(ctx SpecContext) {
		start()
		connect(ctx, 1)
		b := newBackup(namespace, "left", v1alpha1.DeleteData)
		Expect(k8s.Create(ctx, b)).To(Succeed())
		end(ctx, jobOf(ctx, b, render.CreateBackup), 0, `{"end":"2026-11-27T01:40:00Z"}`)
		Eventually(state(ctx, b, v1alpha1.ConditionComplete)).Should(HavePrefix("True Succeeded: "))
		Expect(k8s.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		Expect(k8s.Delete(ctx, b)).To(Succeed())
		Eventually(gone(ctx, b)).Should(BeTrue())
	})

	It("begin at the times of a schedule, once after the operator was away", func(ctx SpecContext) {
		connect(ctx, 1)
		s := &v1alpha1.ArchiveBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hourly"}, Spec: v1alpha1.ArchiveBackupScheduleSpec{
			Schedule: "15 * * * *", TimeZone: "Asia/Kolkata", Keep: new(int32(1)),
			Template: v1alpha1.BackupTemplate{ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: onVolume},
		}}
		Expect(k8s.Create(ctx, s)).To(Succeed())
		Expect(s.Spec.Template.DeletionPolicy).To(Equal(v1alpha1.DeleteData))
		now = s.CreationTimestamp.UTC().Truncate(time.Hour).Add(100*time.Hour + 50*time.Minute) // 15 minutes past the hour in India is 45 here
		start()
		due := now.Truncate(time.Hour).Add(45 * time.Minute)
		first := newBackup(namespace, "hourly-"+due.Format("200601021504"), "")
		Eventually(state(ctx, first, v1alpha1.ConditionComplete)).Should(HavePrefix("False Running: "))
		Expect(first.Spec.DeletionPolicy).To(Equal(v1alpha1.DeleteData))
		Eventually(state(ctx, s, v1alpha1.ConditionScheduled)).Should(HavePrefix("True BackupRuns: ArchiveBackup " + first.Name))
		Expect(s.Status.NextTime.UTC()).To(Equal(due.Add(time.Hour)))
		var all v1alpha1.ArchiveBackupList
		list(ctx, namespace, &all)
		Expect(all.Items).To(HaveLen(1))
		end(ctx, jobOf(ctx, first, render.CreateBackup), 2, `{"error":"the disk is full"}`)
		Eventually(state(ctx, s, v1alpha1.ConditionDegraded)).Should(And(HavePrefix("True BackupsFail: "), ContainSubstring("the disk is full")))
		Expect(s.Status.Failed).To(BeEquivalentTo(1))
		Eventually(figure("varve_backup_last_failed", namespace+"/hourly")).Should(BeEquivalentTo(1))
		Expect(figure("varve_backup_due_timestamp_seconds", namespace+"/hourly")()).To(BeNumerically("<", now.Add(-99*time.Hour).Unix()))

		By("deleting the oldest ones")
		for i := range 2 {
			b := newBackup(namespace, fmt.Sprintf("old-%d", i), "")
			b.Labels = map[string]string{v1alpha1.LabelBackupSchedule: "hourly"}
			b.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: due.Add(time.Duration(i-5) * time.Hour).Format(time.RFC3339)}
			Expect(k8s.Create(ctx, b)).To(Succeed())
			end(ctx, jobOf(ctx, b, render.CreateBackup), 0, `{"end":"2026-11-27T01:40:00Z"}`)
		}
		Eventually(gone(ctx, newBackup(namespace, "old-0", ""))).Should(BeTrue())
		Consistently(gone(ctx, newBackup(namespace, "old-1", "")), "300ms").Should(BeFalse())

		By("explaining a schedule without meaning")
		edit(ctx, s, func() { s.Spec.TimeZone = "Europe/Atlantis" })
		Eventually(state(ctx, s, v1alpha1.ConditionStalled)).Should(Equal(`True InvalidSchedule: spec.timeZone: there is no time zone "Europe/Atlantis": write a name such as Europe/Berlin`))
	})

	It("are restored while there are no engines, one at a time", func(ctx SpecContext) {
		start()
		a := connect(ctx, 1)
		engine := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main-engine-a", Labels: render.Labels("main", v1alpha1.ComponentEngine)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "varve:test"}}},
		}
		Expect(k8s.Create(ctx, engine)).To(Succeed())
		restore := func(name string) *v1alpha1.ArchiveRestore {
			r := &v1alpha1.ArchiveRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ArchiveRestoreSpec{
				ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Source: onVolume, BackupName: "before-1",
			}}
			Expect(k8s.Create(ctx, r)).To(Succeed())
			return r
		}
		r := restore("first")
		Expect(r.Spec.Into).To(Equal(v1alpha1.IntoEmpty))
		Eventually(state(ctx, r, v1alpha1.ConditionComplete)).Should(HavePrefix("False WaitingForNoEngines: a backup is restored while the archive has no engines: run kubectl scale archiver main --replicas=0"))
		edit(ctx, a, func() { a.Spec.Engines.Replicas = new(int32(0)) })
		Expect(k8s.Delete(ctx, engine, client.GracePeriodSeconds(0))).To(Succeed())
		r.Spec.BackupName = "another"
		Expect(k8s.Update(ctx, r)).To(MatchError(ContainSubstring("spec cannot be changed: create another ArchiveRestore")))
		// It looks again every 15 seconds; another object is faster.
		Expect(k8s.Delete(ctx, r)).To(Succeed())
		Eventually(gone(ctx, r)).Should(BeTrue())
		r = restore("second")
		job := jobOf(ctx, r, render.RestoreBackup)
		Expect(job.Spec.Template.Spec.Containers[0].Args).To(ContainElements("restore", "/backup/main", "before-1", "--same-archive", "--shards=64"))
		edit(ctx, a, func() { a.Spec.Engines.Replicas = new(int32(3)) })
		reconcileOnce(ctx, namespace, "main")
		engines := &appsv1.Deployment{}
		Expect(k8s.Get(ctx, key(namespace, "main-engine"), engines)).To(Succeed())
		Expect(engines.Spec.Replicas).To(HaveValue(BeZero()), "engines start during the restore")
		awaitCondition(ctx, a, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRestoring)
		other := restore("third")
		Eventually(state(ctx, other, v1alpha1.ConditionComplete)).Should(HavePrefix("False AnotherRestore: ArchiveRestore second restores a backup into the same archive"))
		end(ctx, job, 0, `{"name":"before-1","source":"keyspace k","pvs":3,"bytes":10,"expired":4}`)
		Eventually(state(ctx, r, v1alpha1.ConditionComplete)).Should(And(HavePrefix("True Succeeded: the archive is restored; start its engines before "), ContainSubstring("kubectl scale archiver main")))
		Expect(r.Status.ExpiredRows).To(BeEquivalentTo(4))
		reconcileOnce(ctx, namespace, "main")
		Expect(k8s.Get(ctx, key(namespace, "main-engine"), engines)).To(Succeed())
		Expect(engines.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		var jobs batchv1.JobList
		list(ctx, namespace, &jobs)
		Expect(slices.ContainsFunc(jobs.Items, func(j batchv1.Job) bool { return j.Labels[v1alpha1.LabelRestore] == "third" })).To(BeFalse())
	})
})
