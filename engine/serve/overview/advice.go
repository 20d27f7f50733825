package overview

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// fullSoon is when a warning about a disk that becomes full begins, in days. nearlyFull is the
// fraction of free space below which it begins in any case.
const (
	fullSoon   = 30
	nearlyFull = 0.1
	overload   = 2.0 // times the mean
)

// problemsOf says what is wrong with an archive, and what to do about it. The gravest come first.
func problemsOf(a *archive, warnings []string) []Problem {
	out := []Problem{}
	for i := range a.Engines {
		out = append(out, engineProblems(&a.Engines[i])...)
	}
	out = append(out, storeProblems(a)...)
	if a.Shards != nil && a.Shards.Captured < a.Shards.Shards {
		out = append(out, Problem{
			SeverityError, "", fmt.Sprintf("%d of %d shards are captured by no engine: their PVs are not archived", a.Shards.Shards-a.Shards.Captured, a.Shards.Shards),
			"Start engines, or look at the condition Reconciling of the Archiver (kubectl describe archiver).",
		})
	}
	if a.GivenUp != nil {
		out = append(out, Problem{
			SeverityWarning, "", "the disk guard deleted raw samples from before " + a.GivenUp.Before + ", earlier than their retention, because the archive was near its limit",
			"Raise the disk limit, add disks or nodes, or shorten the retention of groups. Rollups of these samples stay.",
		})
	}
	for _, text := range warnings {
		out = append(out, Problem{Severity: SeverityWarning, Text: text})
	}
	rank := map[string]int{SeverityError: 0, SeverityWarning: 1, SeverityInfo: 2}
	slices.SortStableFunc(out, func(x, y Problem) int { return cmp.Compare(rank[x.Severity], rank[y.Severity]) })
	return out
}

// engineProblems says what is wrong with an engine.
func engineProblems(e *Engine) (out []Problem) {
	if e.Missing != "" {
		return []Problem{{
			SeverityError, "", "engine " + e.Engine + " does not answer: " + e.Missing,
			"Look at its pod (kubectl describe pod " + e.Engine + "). If its node is lost, its shards move to other engines within a minute.",
		}}
	}
	f := e.Figures
	if f == nil {
		return nil
	}
	if f.Storage != "" {
		out = append(out, Problem{
			SeverityError, "", "engine " + e.Engine + " cannot store samples: " + f.Storage,
			fmt.Sprintf("Bring the store back. %d samples wait in the engine; they are lost when its memory and its spool are full.", f.Pending),
		})
	}
	if u := f.Unsealed; u != nil && u.Late > 0 {
		out = append(out, Problem{
			SeverityWarning, "", fmt.Sprintf("engine %s has not sealed samples of %d shards for up to %s; the store deletes them after %s", e.Engine, u.Late, span(u.OldestSeconds), span(u.KeptSeconds)),
			"Look in the log of the engine for errors of writing blocks. Add engines if its CPU is busy.",
		})
	}
	if d := f.Damaged; d != nil {
		out = append(out, Problem{
			SeverityError, "", fmt.Sprintf("engine %s found %d damaged blocks or journal rows; the first is %s", e.Engine, d.Objects, d.First),
			"Check the disks, then run `varve store check` to list all damaged rows. Their samples are marked as lost.",
		})
	}
	if f.Clock.State == ClockWrong {
		out = append(out, Problem{
			SeverityError, "", fmt.Sprintf("the clock of engine %s is wrong by %s: %s", e.Engine, span(abs(f.Clock.OffsetSeconds)), f.Clock.Because),
			"Correct the clock of its machine (NTP). Until then good times of IOCs are kept, and nothing expires by this clock.",
		})
	}
	if f.Load != nil && *f.Load > overload {
		out = append(out, Problem{
			SeverityInfo, "", fmt.Sprintf("engine %s gets %.1f times as many samples as the mean of all engines", e.Engine, *f.Load),
			"Shards move by themselves if spec.rebalance of the Archiver is Auto. A single shard with many samples cannot be divided: see spec.shardBy of its groups.",
		})
	}
	return out
}

func abs(v float64) float64 { return max(v, -v) }

// storeProblems says what is wrong with the store.
func storeProblems(a *archive) (out []Problem) {
	s := a.Storage
	if s == nil {
		if why := a.Unknown["storage"]; why != "" {
			out = append(out, Problem{SeverityError, "", "the store does not answer: " + why, "Bring the store back. Reads fail until then; engines keep new samples in memory or in their spool."})
		}
		return out
	}
	down := 0
	for _, n := range s.Nodes {
		if !n.Up {
			down++
		}
	}
	if down > 0 {
		out = append(out, Problem{
			SeverityError, "", fmt.Sprintf("%d of %d Cassandra nodes are down", down, len(s.Nodes)),
			fmt.Sprintf("Start the nodes. The archive needs a majority of the %d replicas of each row.", max(1, s.Replicas)),
		})
	}
	if d := s.Disk; d != nil && float64(d.Free) < nearlyFull*float64(d.Size) {
		out = append(out, Problem{
			SeverityWarning, "", fmt.Sprintf("the disk of %s has only %.1f %% free space", s.Where, 100*float64(d.Free)/float64(max(1, d.Size))),
			"Free space on the disk, or set --disk-limit so that the oldest raw samples are deleted before it is full.",
		})
	}
	if f := a.Forecast; f != nil && f.ReachedInDays != nil && *f.ReachedInDays < fullSoon {
		out = append(out, Problem{
			SeverityWarning, "", fmt.Sprintf("the archive reaches %s in %s", f.Limit, days(*f.ReachedInDays)),
			"Shorten the retention of groups, lower their rate with a deadband or maxRate, or add disk space.",
		})
	}
	return out
}

// clock formats a time in ns since 1970.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
