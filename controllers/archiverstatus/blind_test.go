package archiverstatus

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// Degraded names blind engines and some of their hosts, with redundancy 1, too.
func TestDegradedNamesBlindEngines(t *testing.T) {
	var hosts []string
	for i := range 9 {
		hosts = append(hosts, fmt.Sprintf("10.0.0.%d:5064", i))
	}
	in := healthy()
	in.Blind = []placement.BlindEngine{{Engine: "a", Hosts: hosts[:2]}, {Engine: "b", Hosts: hosts}, {Engine: "c"}}
	c := condition(t, Compute(in), v1alpha1.ConditionDegraded)
	if c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonEngineBlind {
		t.Errorf("the condition is %+v", c)
	}
	for _, want := range []string{
		"engine a does not reach IOCs 10.0.0.0:5064, 10.0.0.1:5064, which other engines reach",
		"engine b does not reach IOCs 10.0.0.0:5064, 10.0.0.1:5064, 10.0.0.2:5064, 10.0.0.3:5064, 10.0.0.4:5064 and 4 more, which",
		"engine c does not reach IOCs, which other engines reach",
	} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
}
