package archiverstatus

import (
	"fmt"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// sealingLags counts the shards whose samples wait in the journal for too long.
func sealingLags(in *Input) []problem {
	shards, oldest, kept := 0, 0., 0.
	for i := range in.Fleet {
		if r := in.Fleet[i].Report; r != nil && r.SealingLag != nil && !in.Fleet[i].Dead {
			shards += r.SealingLag.Shards
			oldest, kept = max(oldest, r.SealingLag.OldestSeconds), max(kept, r.SealingLag.KeptSeconds)
		}
	}
	if shards == 0 {
		return nil
	}
	return []problem{{v1alpha1.ReasonSealingLags, fmt.Sprintf(
		"samples of %s have been in the journal for more than %s, and no engine can put them into blocks; "+
			"the journal keeps them for %s, and longer only while engines run: read why sealing fails in the logs of the engines",
		countShards(shards), describeHours(oldest), describeHours(kept))}}
}

func countShards(n int) string {
	if n == 1 {
		return "1 shard"
	}
	return fmt.Sprintf("%d shards", n)
}

// describeHours rounds down to hours, so that the text rarely changes. Shorter times are in minutes.
func describeHours(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// damagedData counts the stored objects that engines found damaged, and names the first one of the
// first engine. An object that several engines found counts once. Objects without an ID may be the same
// in each engine, so only those of the engine with most of them count.
func damagedData(in *Input) []problem {
	first, engine := "", ""
	ids, others := map[uint64]bool{}, 0
	for i := range in.Fleet {
		e := &in.Fleet[i]
		if e.Report == nil || e.Report.Damaged == nil || e.Dead {
			continue
		}
		for _, id := range e.Report.Damaged.IDs {
			ids[id] = true
		}
		others = max(others, e.Report.Damaged.Objects-len(e.Report.Damaged.IDs))
		if engine == "" || e.Name < engine {
			engine, first = e.Name, e.Report.Damaged.First
		}
	}
	objects := len(ids) + others
	if objects == 0 {
		return nil
	}
	what := "1 stored object is damaged"
	if objects > 1 {
		what = fmt.Sprintf("%d stored objects are damaged, the first one", objects)
	}
	return []problem{{v1alpha1.ReasonDataDamaged, fmt.Sprintf(
		"%s: %s (found by engine %s); its samples are marked as lost, and all others are archived: run varve store check", what, first, engine)}}
}
