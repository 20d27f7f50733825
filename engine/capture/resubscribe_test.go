package capture

import (
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

func TestResubscribeReplacesTheSubscriptionWithAMark(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: append(groupOf(Settings{}, "A"), groupOf(Settings{Paused: true}, "P")...)})
		r.connect("A", sample.Float64).Sample(&sample.Sample{Time: r.now(), Word: 1})
		r.source.takeCalls()
		for _, pv := range []string{"P", "nobody's", "A"} {
			r.Resubscribe(pv, "it was silent")
		}
		if calls := r.source.takeCalls(); calls != "-A +A" {
			t.Errorf("calls: %s", calls)
		}
		if m := r.marks.latest("A"); m.Kind != sample.Disconnected || !strings.Contains(m.Text, "it was silent") {
			t.Errorf("the mark is %+v", m)
		}
		r.connect("A", sample.Float64).Sample(&sample.Sample{Time: r.now(), Word: 2})
		if st := r.status(t, "A"); st.State != Connected || st.Received != 2 || st.Last.Word != 2 {
			t.Errorf("the status is %+v", st)
		}
	})
}
