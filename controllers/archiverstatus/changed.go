package archiverstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"varve.dev/varve/api/v1alpha1"
)

// writeEvery is how often figures are written.
const writeEvery = 30 * time.Second

// Changed reports whether a status is to be written: at once if something
// happened, now and then if only figures moved.
func Changed(old *v1alpha1.ArchiverStatus, computed v1alpha1.ArchiverStatus, sinceWritten time.Duration) bool {
	if old == nil {
		return true
	}
	if equality.Semantic.DeepEqual(*old, computed) {
		return false
	}
	if sinceWritten >= writeEvery || total(old) != total(&computed) {
		return true
	}
	computed.Channels, computed.Rates = old.Channels, old.Rates
	return !equality.Semantic.DeepEqual(*old, computed)
}

// total is the number of channels, which changes by edits only.
func total(s *v1alpha1.ArchiverStatus) int32 {
	if s.Channels == nil {
		return -1
	}
	return s.Channels.Total
}
