package archiverstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/figures"
)

// writeEvery is how often changed numbers are written. movesEvery is how often the progress of
// moves is written.
const writeEvery, movesEvery = 30 * time.Second, 5 * time.Second

// Changed reports whether to write a status. A transition is written at once. If only numbers
// changed, the status is written every writeEvery.
func Changed(old *v1alpha1.ArchiverStatus, computed v1alpha1.ArchiverStatus, sinceWritten time.Duration) bool {
	if old == nil {
		return true
	}
	if equality.Semantic.DeepEqual(*old, computed) {
		return false
	}
	if sinceWritten >= writeEvery || figures.Appeared(figuresOf(old), figuresOf(&computed)) {
		return true
	}
	computed.Channels, computed.Rates, computed.WorstCircuits = old.Channels, old.Rates, old.WorstCircuits
	if old.Redundancy != nil && computed.Redundancy != nil {
		computed.Redundancy = old.Redundancy
	}
	if old.Moves != nil && computed.Moves != nil && sinceWritten < movesEvery {
		computed.Moves = old.Moves
	}
	return !equality.Semantic.DeepEqual(*old, computed)
}

func figuresOf(s *v1alpha1.ArchiverStatus) figures.Figures {
	return figures.Figures{Channels: s.Channels, Rates: s.Rates}
}
