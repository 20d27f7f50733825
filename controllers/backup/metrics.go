package backup

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
)

// These are the metrics of backups. The labels archiver and schedule are NAMESPACE/NAME, as in the other metrics of the
// operator.
var (
	lastSuccess = prometheus.NewDesc("varve_backup_last_success_timestamp_seconds",
		"Time before which all acknowledged samples of an Archiver are in a complete backup, of those that have an ArchiveBackup.", []string{"archiver"}, nil)
	dueTime = prometheus.NewDesc("varve_backup_due_timestamp_seconds",
		"Time of an ArchiveBackupSchedule at which the first backup after the latest complete one is due. It is in the past if that backup is late.", []string{"schedule"}, nil)
	lastFailed = prometheus.NewDesc("varve_backup_last_failed",
		"1 if the latest backup of an ArchiveBackupSchedule that has ended failed or is damaged, otherwise 0.", []string{"schedule"}, nil)
)

// figures holds the figures of backups. It is a prometheus.Collector. Its zero value is ready to use, and it is safe for
// concurrent use.
type figures struct {
	mu        sync.Mutex
	backups   map[types.NamespacedName]success
	schedules map[types.NamespacedName]due
}

// success is a complete backup.
type success struct {
	archiver string
	until    time.Time
}

// due is what is known about a schedule.
type due struct {
	at     time.Time // zero if no backups are scheduled
	failed bool
}

func (f *figures) observeBackup(b *v1alpha1.ArchiveBackup) {
	name := client.ObjectKeyFromObject(b)
	if ended, good := plan.BackupEnded(b); !ended || !good || b.DeletionTimestamp != nil || b.Status.CompleteUntil == nil {
		f.forgetBackup(name)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.backups == nil {
		f.backups = map[types.NamespacedName]success{}
	}
	f.backups[name] = success{b.Namespace + "/" + b.Spec.ArchiverRef.Name, b.Status.CompleteUntil.Time}
}

func (f *figures) forgetBackup(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.backups, name)
}

func (f *figures) observeSchedule(name types.NamespacedName, at time.Time, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.schedules == nil {
		f.schedules = map[types.NamespacedName]due{}
	}
	f.schedules[name] = due{at, failed}
}

func (f *figures) forgetSchedule(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.schedules, name)
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(to chan<- *prometheus.Desc) {
	to <- lastSuccess
	to <- dueTime
	to <- lastFailed
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(to chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	latest := map[string]time.Time{}
	for _, b := range f.backups {
		if b.until.After(latest[b.archiver]) {
			latest[b.archiver] = b.until
		}
	}
	for archiver, until := range latest {
		to <- prometheus.MustNewConstMetric(lastSuccess, prometheus.GaugeValue, float64(until.Unix()), archiver)
	}
	for name, s := range f.schedules {
		if !s.at.IsZero() {
			to <- prometheus.MustNewConstMetric(dueTime, prometheus.GaugeValue, float64(s.at.Unix()), name.String())
		}
		failed := 0.0
		if s.failed {
			failed = 1
		}
		to <- prometheus.MustNewConstMetric(lastFailed, prometheus.GaugeValue, failed, name.String())
	}
}
