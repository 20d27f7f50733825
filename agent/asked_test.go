package agent

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAnEngineWithoutRightsWaitsForNobody denies the Lease of an engine, as while its namespace is being deleted.
func TestAnEngineWithoutRightsWaitsForNobody(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "a", errors.New("the namespace is being terminated"))
	begun := time.Now()
	var a asked
	a.noteLease(errors.New("time-out"), begun)
	if is, _ := a.settled(begun); is {
		t.Error("a time-out counts as a denial")
	}
	a.noteLease(denied, begun)
	a.noteLease(denied, begun.Add(time.Minute))
	if is, since := a.settled(begun.Add(time.Minute)); !is || !since.Equal(begun) {
		t.Errorf("after two denials: %v since %v, want true since %v", is, since, begun)
	}
	a.noteLease(nil, begun.Add(2*time.Minute))
	if is, _ := a.settled(begun.Add(2 * time.Minute)); is {
		t.Error("the denial counts although the Lease was renewed since")
	}
}
