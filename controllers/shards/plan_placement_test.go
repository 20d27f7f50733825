package shards

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/placement"
)

// The weight of a shard is the load that its capturing engine measures. The measurement of
// a joining engine does not count.
func TestMeasure(t *testing.T) {
	engine := func(name string, shards ...report.Shard) fleet.Engine {
		return fleet.Engine{Name: name, Report: &report.Report{Engine: name, Shards: shards}}
	}
	shard := func(index int, phase v1alpha1.ShardPhase, rate float64) report.Shard {
		return report.Shard{Index: index, Phase: string(phase), Channels: 100, SamplesPerSecond: rate}
	}
	heavy := shard(3, v1alpha1.Capturing, 10)
	heavy.BytesPerSecond, heavy.Circuits = 1e6, 4
	in := &observed{engines: []fleet.Engine{
		engine("a", shard(0, v1alpha1.Capturing, 1000), shard(1, v1alpha1.Capturing, 50), heavy),
		engine("b", shard(0, v1alpha1.Capturing, 10), shard(1, v1alpha1.Joining, 7000)),
		{Name: "silent"},
	}}
	var costs placement.Smoother
	in.observeLoads(time.Now(), &costs)
	weights := costs.Weights([]int{100, 100, 0, 100})
	idle := placement.Load{Channels: 100}.Cost()
	large := placement.Load{SamplesPerSecond: 10, BytesPerSecond: 1e6, Circuits: 4}.Cost()
	if weights[0] != idle+1000 || weights[1] != idle+50 || weights[3] != idle+large {
		t.Errorf("weights are %v, but a shard of idle channels has the weight %v", weights, idle)
	}
	in.engines[0].Report.Shards = in.engines[0].Report.Shards[:2]
	costs = placement.Smoother{}
	in.observeLoads(time.Now(), &costs)
	if weights := costs.Weights([]int{100, 100, 200}); weights[2] != 2*idle+1050 {
		t.Errorf("a shard that was not measured has the weight %v instead of the weight of the others", weights[2])
	}
}

// What an engine sees comes from its report, and from its answer until the report knows that it
// captures. Dead engines see nothing.
func TestSights(t *testing.T) {
	s := &v1alpha1.ArchiveShard{Status: &v1alpha1.ArchiveShardStatus{}}
	s.Spec.Index, s.Spec.Channels = new(int32), 10
	in := &observed{}
	for _, e := range []struct {
		name     string
		reported v1alpha1.ShardPhase
		dead     bool
	}{{"reports", v1alpha1.Capturing, false}, {"joined", v1alpha1.Joining, false}, {"dead", v1alpha1.Capturing, true}, {"silent", "", false}} {
		answer := v1alpha1.ShardEngineStatus{Name: e.name, Phase: v1alpha1.Capturing, Connected: new(int32(7))}
		if e.dead || e.reported == "" {
			answer.Connected = nil
		}
		s.Spec.Engines = append(s.Spec.Engines, v1alpha1.ShardEngine{Name: e.name, Order: v1alpha1.OrderCapture})
		s.Status.Engines = append(s.Status.Engines, answer)
		in.engines = append(in.engines, fleet.Engine{Name: e.name, Dead: e.dead, Report: &report.Report{Shards: []report.Shard{{
			Phase: string(e.reported), Channels: 11, Connected: 3, Paused: 2, Unsupported: 1, SteadilyConnected: 4, Unreachable: 5,
			Hosts: []report.Host{{Host: "ioc:5064", Channels: 3}},
		}}}})
	}
	want := []placement.Sight{
		{Known: true, Channels: 11, Connected: 6, Steady: 4, Unreachable: 5, Hosts: []placement.Host{{Name: "ioc:5064", Channels: 3}}},
		{Known: true, Stale: true, Channels: 10, Connected: 7},
		{}, {},
	}
	for i, slot := range slots(s, in.sights()) {
		if diff := cmp.Diff(want[i], slot.Sight); diff != "" {
			t.Errorf("engine %s: %s", slot.Name, diff)
		}
	}
}
