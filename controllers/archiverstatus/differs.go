package archiverstatus

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"varve.dev/varve/api/v1alpha1"
)

// Difference is how two statuses differ.
type Difference int

// Differences.
const (
	// Same: there is nothing to write.
	Same Difference = iota
	// Figures differ, which can wait.
	Figures
	// Transition: something else differs, which people and programs wait for.
	Transition
)

// Differs compares the status that was written last with the one to be written.
func Differs(old *v1alpha1.ArchiverStatus, now v1alpha1.ArchiverStatus) Difference {
	if old == nil {
		return Transition
	}
	if equality.Semantic.DeepEqual(*old, now) {
		return Same
	}
	if total(old) == total(&now) {
		now.Channels, now.Rates = old.Channels, old.Rates
	}
	if equality.Semantic.DeepEqual(*old, now) {
		return Figures
	}
	return Transition
}

// total is the number of channels, which changes by edits only.
func total(s *v1alpha1.ArchiverStatus) int32 {
	if s.Channels == nil {
		return -1
	}
	return s.Channels.Total
}
