package archiverstatus

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/fleet"
)

// redundantShards returns an Archiver with three shards of redundancy 2 on nodes a to c. The
// arguments are the engines that capture each shard.
func redundantShards(engines ...[]string) Input {
	in := healthy()
	in.Fleet = append(in.Fleet, fleet.Engine{Name: "c", Ready: true, Report: &report.Report{}})
	for i := range in.Fleet {
		in.Fleet[i].Node = in.Fleet[i].Name
	}
	for i, names := range engines {
		index := int32(2 + i)
		s := v1alpha1.ArchiveShard{Spec: v1alpha1.ArchiveShardSpec{Index: &index, Channels: 10}, Status: &v1alpha1.ArchiveShardStatus{}}
		for _, name := range names {
			s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: name, Phase: v1alpha1.Capturing})
		}
		in.Shards = append(in.Shards, s)
	}
	return in
}

func TestRedundantReportsMissingEngines(t *testing.T) {
	ab, bc, a := []string{"a", "b"}, []string{"b", "c"}, []string{"a"}
	for name, tc := range map[string]struct {
		in      Input
		change  func(*Input)
		reason  string
		message string
	}{
		"two engines per shard": {in: redundantShards(ab, bc), reason: v1alpha1.ReasonTwoEngines},
		"a second engine joins": {in: redundantShards(ab, a), reason: v1alpha1.ReasonJoining, message: "of the 2 shards of redundancy 2, 1 have at most one engine"},
		"no engine":             {in: redundantShards(ab, nil), reason: v1alpha1.ReasonJoining},
		"the second is dead":    {in: redundantShards(ab, bc), change: func(in *Input) { in.Fleet[2].Dead = true }, reason: v1alpha1.ReasonJoining},
		"only one engine":       {in: redundantShards(a, a), change: func(in *Input) { in.Fleet = in.Fleet[:1] }, reason: v1alpha1.ReasonOneEngine, message: "the archive has only one engine"},
		"others are leaving":    {in: redundantShards(a, a), change: func(in *Input) { in.Fleet[1].Deleting, in.Fleet[2].Deleting = true, true }, reason: v1alpha1.ReasonOneEngine},
		"only one node":         {in: redundantShards(ab, bc), change: oneNode, reason: v1alpha1.ReasonOneNode, message: "all engines run on one node"},
		"one pair on a node":    {in: redundantShards(ab, bc), change: func(in *Input) { in.Fleet[1].Node = "a" }, reason: v1alpha1.ReasonOneNode, message: "1 have both engines on the same node"},
		"unknown nodes":         {in: redundantShards(ab, bc), change: func(in *Input) { in.Fleet[0].Node, in.Fleet[1].Node = "", "" }, reason: v1alpha1.ReasonTwoEngines},
		"empty shards":          {in: redundantShards(ab, nil), change: func(in *Input) { in.Shards[3].Spec.Channels = 0 }, reason: v1alpha1.ReasonTwoEngines},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(&tc.in)
			}
			c := meta.FindStatusCondition(Compute(tc.in).Conditions, v1alpha1.ConditionRedundant)
			if c == nil || c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) ||
				(c.Status == metav1.ConditionTrue) != (tc.reason == v1alpha1.ReasonTwoEngines) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
	if c := meta.FindStatusCondition(Compute(healthy()).Conditions, v1alpha1.ConditionRedundant); c != nil {
		t.Errorf("without redundancy 2: %+v", c)
	}
}

func oneNode(in *Input) {
	for i := range in.Fleet {
		in.Fleet[i].Node = "a"
	}
}

func TestRedundancyCountsSecondEngines(t *testing.T) {
	in := redundantShards([]string{"a", "b"}, []string{"b", "c"}, nil)
	in.Fleet[1].Report.Second = &report.Second{Channels: 10, Circuits: 2, BytesPerDay: 1234567}
	in.Fleet[2].Report.Second = &report.Second{Channels: 10, Circuits: 1, BytesPerDay: 1}
	status := Compute(in)
	if want := (v1alpha1.RedundancyStatus{Channels: 30, Circuits: 3, BytesPerDay: 1200000}); status.Redundancy == nil || *status.Redundancy != want {
		t.Errorf("redundancy: got %+v, want %+v", status.Redundancy, want)
	}
	if status.Shards != "4/5" {
		t.Errorf("shards are %s", status.Shards)
	}
	in.Archiver.Status = &status
	for i := range in.Fleet {
		in.Fleet[i].Report = nil
	}
	in.Synced = false
	if again := Compute(in); *again.Redundancy != *status.Redundancy {
		t.Errorf("after an operator restart: %+v", again.Redundancy)
	}
	if Compute(healthy()).Redundancy != nil {
		t.Error("there is a redundancy status without redundancy 2")
	}
}

// TestBlindEngineIsReported checks that the status names an engine that cannot reach its IOCs.
// The channels must be unreachable for this engine and steadily connected to the other engine.
func TestBlindEngineIsReported(t *testing.T) {
	sees := func(engine int, shards ...report.Shard) func(*Input) {
		return func(in *Input) {
			for i := range shards {
				shards[i].Index, shards[i].Phase, shards[i].Channels = 2+i, string(v1alpha1.Capturing), 10
			}
			in.Fleet[engine].Report = &report.Report{Shards: shards}
		}
	}
	connected, unreachable, undecided := report.Shard{SteadilyConnected: 10}, report.Shard{Unreachable: 10}, report.Shard{}
	for name, tc := range map[string]struct {
		a, b    func(*Input)
		message string
	}{
		"both reach the IOC":         {a: sees(0, connected, connected), b: sees(1, connected, connected)},
		"neither reaches the IOC":    {a: sees(0, unreachable, unreachable), b: sees(1, unreachable, unreachable)},
		"one is cut off":             {a: sees(0, unreachable, unreachable), b: sees(1, connected, connected), message: "engine a cannot reach 20 of 20 channels that engine b has"},
		"one cannot reach an IOC":    {a: sees(0, connected, connected), b: sees(1, report.Shard{SteadilyConnected: 7, Unreachable: 3}, connected), message: "engine b cannot reach 3 of 20"},
		"one cannot reach a channel": {a: sees(0, connected, connected), b: sees(1, report.Shard{SteadilyConnected: 9, Unreachable: 1}, connected)},
		"perhaps different channels": {a: sees(0, report.Shard{SteadilyConnected: 5, Unreachable: 5}, connected), b: sees(1, report.Shard{SteadilyConnected: 5, Unreachable: 5}, connected)},
		"the IOC has just returned":  {a: sees(0, unreachable, unreachable), b: sees(1, undecided, undecided)},
		"the IOC has just stopped":   {a: sees(0, undecided, undecided), b: sees(1, connected, connected)},
	} {
		t.Run(name, func(t *testing.T) {
			in := redundantShards([]string{"a", "b"}, []string{"a", "b"})
			tc.a(&in)
			tc.b(&in)
			want := v1alpha1.ReasonTwoEngines
			if tc.message != "" {
				want = v1alpha1.ReasonEngineBlind
			}
			c := meta.FindStatusCondition(Compute(in).Conditions, v1alpha1.ConditionRedundant)
			if c == nil || c.Reason != want || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}
