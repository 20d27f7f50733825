package standalone

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// outageInSpool stops Cassandra for so long that the new samples do not fit into memory, and
// ends the program before Cassandra is back. A killed program may lose the samples that are
// not on disk yet. A stopped program must lose nothing.
func outageInSpool(t *testing.T, node *cassandra.Node) {
	createSchema(t, node, "spool")
	p := newFixture(t, 500)
	args := []string{
		"-f", p.groups, "--checkpoint", "10s", "--memory", "16Mi", "--spool", t.TempDir(), "--spool-size", "1Gi",
		"--cassandra", node.Addr(), "--cassandra-keyspace", "spool",
	}
	a := program.Standalone(t, p.ClientEnv(), args...)
	begin := a.AwaitSamples(len(p.pvs))
	a.GoOn(2 * time.Second)

	node.Stop()
	a.GoOn(either(20*time.Second, time.Minute))
	channels := a.Channels()
	put := metric(t, a, "varve_spool_put_samples_total")
	a.GoOn(2 * time.Second) // by then, the last samples in channels are on disk
	kill := outage{name: "kill -9 while Cassandra is unavailable", from: time.Now()}
	a.Kill()
	if least := float64(len(p.pvs) * 100); put < least {
		t.Errorf("%.0f samples were put into the spool, want at least %.0f", put, least)
	}
	node.Start(t)
	a = program.Standalone(t, p.ClientEnv(), args...)
	a.AwaitConnected(len(p.pvs))
	kill.to = time.Now()
	awaitDrained(t, a)

	a.GoOn(2 * time.Second)
	node.Pause(t)
	a.GoOn(3 * time.Second)
	stop := outage{name: "SIGTERM while Cassandra is unavailable", from: time.Now()}
	a.Stop()
	if !regexp.MustCompile(`samples remain in the spool.*samples=[1-9]`).MatchString(a.Log.String()) {
		t.Errorf("the stopped program does not report the samples in its spool:\n%s", a.Log.Tail())
	}
	node.Resume(t)
	a = program.Standalone(t, p.ClientEnv(), args...)
	a.AwaitConnected(len(p.pvs))
	stop.to = time.Now()
	awaitDrained(t, a)
	a.GoOn(2 * time.Second)

	// A new process has no samples in memory, so it returns only stored ones.
	last := outage{name: "SIGTERM", from: time.Now()}
	a.Stop()
	a = program.Standalone(t, p.ClientEnv(), args...)
	a.AwaitConnected(len(p.pvs))
	last.to = time.Now()
	all := a.ReadAll(p.pvs, begin)
	cost := checkHoles(t, all, kill, stop, last)
	for i, most := range []time.Duration{2*flush + delay, delay} {
		if cost[i].early > most {
			t.Errorf("the end of the program loses samples of the %v before it", cost[i].early)
		}
	}
	checkPresent(t, all, channels)
	for _, pv := range p.spread(20) {
		checkLossesMarked(t, a, pv, all[pv], kill)
	}
}

// createSchema creates the tables of a keyspace. This takes long on a busy machine.
func createSchema(t *testing.T, node *cassandra.Node, keyspace string) {
	t.Helper()
	s := program.Launch(t, nil, "schema", "--cassandra", node.Addr(), "--cassandra-keyspace", keyspace, "--timeout", "5m")
	<-s.Ended
	if code := s.Wait(); code != 0 {
		t.Fatalf("varve schema exits with %d:\n%s", code, s.Log.Tail())
	}
}

// checkLossesMarked fails the test unless marks cover every step that was lost in an outage.
// It retries, because the new process waits before it marks the killed one as dead.
func checkLossesMarked(t *testing.T, a *program.Archiver, pv string, events []archive.Event, o outage) {
	t.Helper()
	var open []time.Time
	var marks []archive.Mark
	unmarked := func() bool {
		marks, open = a.Marks(pv, time.Unix(0, events[0].Time).Add(-time.Minute)), nil
		for _, h := range holes(t, pv, events) {
			for _, at := range h.Unmarked(marks) {
				if at.After(o.from.Add(-delay)) && at.Before(o.to) {
					open = append(open, at)
				}
			}
		}
		return len(open) > 0
	}
	for deadline := time.Now().Add(program.Patience); unmarked() && time.Now().Before(deadline); {
		a.GoOn(time.Second)
	}
	if len(open) > 0 {
		t.Errorf("%s: no marks explain %d missing steps, the first at %v: %v", pv, len(open), open[0], marks)
	}
}

// awaitDrained waits until the spool is empty.
func awaitDrained(t *testing.T, a *program.Archiver) {
	t.Helper()
	start := time.Now()
	rows := metric(t, a, "varve_spool_waiting_rows")
	program.Eventually(t, "the spool is drained", func() bool { return metric(t, a, "varve_spool_waiting_rows") == 0 })
	t.Logf("%.0f rows waited in the spool; they were stored after %.1f s", rows, time.Since(start).Seconds())
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, a *program.Archiver, name string) float64 {
	t.Helper()
	_, body := a.Get("/metrics", nil)
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(body)
	if m == nil {
		t.Fatalf("there is no metric %s", name)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
