package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// TestLong_RefusedBlocks revokes the right to write blocks, while Cassandra still accepts journal
// rows, until the archiver has received several times as many samples as fit into --memory. The
// archiver must stay within its memory and keep every sample. Once it may write blocks again, it
// must seal all of them, and mark none of them as lost. All the time the process must stay within
// the memory that docs/operations.md promises for its --memory.
//
// With VARVE_LONG=1 the scenario lasts 30 minutes with --memory 256Mi, so it needs -timeout 1h.
func TestLong_RefusedBlocks(t *testing.T) {
	const keyspace = "refused"
	start := time.Now()
	node := cassandra.Start(t, "authenticator: PasswordAuthenticator", "authorizer: CassandraAuthorizer",
		"permissions_validity: 500ms", "permissions_update_interval: 100ms")
	rights := newRights(t, node, keyspace)

	const pvs = 2000
	p := newFixture(t, pvs)
	args := []string{
		"-f", p.groups, "--checkpoint", "10s", "--memory", either("16Mi", "256Mi"),
		"--cassandra", node.Addr(), "--cassandra-keyspace", keyspace, "--cassandra-credentials", rights.engines,
	}
	a := program.Standalone(t, p.ClientEnv(), args...)
	begin := a.AwaitSamples(pvs)
	program.Eventually(t, "the first samples are sealed", func() bool { return metric(t, a, "varve_seal_samples_total") > 0 })

	rights.refuseBlocks()
	time.Sleep(time.Second) // until Cassandra has read the rights again
	sealed := metric(t, a, "varve_seal_samples_total")
	watchMemory(t, a, either(75*time.Second, 25*time.Minute))
	if now := metric(t, a, "varve_seal_samples_total"); now > sealed+float64(pvs*20) {
		t.Errorf("%.0f samples were sealed although the blocks are refused", now-sealed)
	}
	if metric(t, a, "varve_journal_released_total") == 0 {
		t.Error("memory was never short, so the test shows nothing")
	}
	rights.restoreBlocks()
	stored := a.Summary().Stored
	program.Eventually(t, "the samples in the journal are sealed", func() bool {
		return metric(t, a, "varve_seal_samples_total") >= float64(stored)
	})
	watchMemory(t, a, either(5*time.Second, 4*time.Minute))
	if n := metric(t, a, "varve_journal_dropped_samples_total"); n != 0 {
		t.Errorf("%.0f samples were dropped", n)
	}
	checkAllRead(t, a, p, start, begin)
}

// checkAllRead stops the IOC and reads all PVs. It checks that the archive has exactly the samples
// that the archiver has received since the start of the test, and that no PV got a mark between its
// connection and the stop. It goes on after a failure. Steps that the IOC of a busy machine did not
// send are not lost.
func checkAllRead(t *testing.T, a *program.Archiver, p *fixture, start, connected time.Time) {
	t.Helper()
	p.Stop()
	program.Eventually(t, "all samples are stored", func() bool {
		s := a.Summary()
		return s.States["disconnected"] == len(p.pvs) && s.Pending == 0
	})
	checkBalance(t, a)
	const most = 10 // failures to report in detail
	total, unsent, bad := 0, 0, 0
	channels := a.Channels()
	for _, pv := range p.pvs {
		events, err := a.Raw(pv, start, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tally := archive.NewTally(events)
		marks := a.Marks(pv, connected)
		if n := len(marks); n > 0 && marks[n-1].Kind == "disconnected" {
			marks = marks[:n-1] // by the stop
		}
		stored := int(channels[pv].Stored)
		if stored == 0 || tally.Samples != stored || tally.Duplicated+len(marks) > 0 {
			if bad++; bad <= most {
				t.Errorf("%s: %v, of %d stored; marks: %v", pv, tally, stored, marks)
			}
		}
		total, unsent = total+tally.Samples, unsent+tally.Lost
	}
	if bad > 0 {
		t.Errorf("%d PVs lack samples, or have duplicates or marks", bad)
	}
	t.Logf("read %d samples; those of %d PVs are not as expected; the IOC did not send %d steps", total, bad, unsent)
}

// watchMemory logs the resident memory of the archiver and its samples now and then. It fails the
// test if the samples take more than the limit, apart from those of a flush, or if the process ever
// took more than it may.
func watchMemory(t *testing.T, a *program.Archiver, d time.Duration) {
	t.Helper()
	limit := metric(t, a, "varve_journal_memory_limit_bytes")
	const looks = 12
	for range looks {
		a.GoOn(d / looks)
		used := metric(t, a, "varve_journal_memory_bytes")
		now, peak := resident(t, a)
		t.Logf("%s: resident %d MiB, at most %d MiB, samples in no block %.1f MiB of %.0f MiB, left memory %.0f times, sealed %.0f",
			time.Now().Format(time.TimeOnly), now>>20, peak>>20, used/(1<<20), limit/(1<<20),
			metric(t, a, "varve_journal_released_total"), metric(t, a, "varve_seal_samples_total"))
		if used > limit*1.25 {
			t.Errorf("samples take %.1f MiB, but --memory allows %.1f MiB", used/(1<<20), limit/(1<<20))
		}
		if most := 2*int(limit) + 384<<20; peak > most {
			t.Errorf("the process took %d MiB, more than twice --memory and 384 MiB: %d MiB", peak>>20, most>>20)
		}
	}
}

var residentLines = regexp.MustCompile(`(?s)VmHWM:\s+(\d+) kB.*VmRSS:\s+(\d+) kB`)

// resident returns the resident memory of the archiver in bytes, and the most that it ever was, or 0
// where the kernel does not report them.
func resident(t *testing.T, a *program.Archiver) (now, peak int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Cmd.Process.Pid))
	m := residentLines.FindSubmatch(status)
	if err != nil || m == nil {
		return 0, 0
	}
	now, _ = strconv.Atoi(string(m[2]))
	peak, _ = strconv.Atoi(string(m[1]))
	return now << 10, peak << 10
}

// rights are the rights of the engines' user on the tables of an archive.
type rights struct {
	t        *testing.T
	session  *gocql.Session // of the administrator
	keyspace string
	engines  string // directory with the credentials of the engines' user
}

const enginesUser = "engines"

// newRights creates an archive, and a user for its engines.
func newRights(t *testing.T, node *cassandra.Node, keyspace string) *rights {
	t.Helper()
	r := &rights{t: t, keyspace: keyspace, engines: credentials(t, enginesUser, "engines' password")}
	cluster := gocql.NewCluster(node.Addr())
	cluster.ProtoVersion, cluster.Timeout, cluster.Logger = 5, 30*time.Second, gocql.NewLogger(gocql.LogLevelNone)
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra", Password: "cassandra"}
	program.Eventually(t, "the administrator can log in", func() (ok bool) {
		var err error
		r.session, err = cluster.CreateSession()
		return err == nil
	})
	t.Cleanup(r.session.Close)
	s := program.Launch(t, nil, "schema", "--cassandra", node.Addr(), "--cassandra-keyspace", keyspace, "--timeout", "5m",
		"--cassandra-credentials", credentials(t, "cassandra", "cassandra"), "--role-credentials", r.engines)
	<-s.Ended
	if code := s.Wait(); code != 0 {
		t.Fatalf("varve schema exits with %d:\n%s", code, s.Log.Tail())
	}
	return r
}

// credentials returns a directory with the files username and password.
func credentials(t *testing.T, username, password string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"username": username, "password": password} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// refuseBlocks lets the engines' user write every table but those of blocks and rollups.
func (r *rights) refuseBlocks() {
	r.t.Helper()
	tables := r.session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", r.keyspace).IterContext(r.t.Context())
	for name := ""; tables.Scan(&name); {
		if !strings.HasPrefix(name, "block_") && !strings.HasPrefix(name, "rollup_") {
			r.exec("GRANT MODIFY ON TABLE %s.%s TO %s", r.keyspace, name, enginesUser)
		}
	}
	if err := tables.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.exec("REVOKE MODIFY ON KEYSPACE %s FROM %s", r.keyspace, enginesUser)
}

// restoreBlocks lets the engines' user write all tables.
func (r *rights) restoreBlocks() {
	r.t.Helper()
	r.exec("GRANT MODIFY ON KEYSPACE %s TO %s", r.keyspace, enginesUser)
}

// exec runs a statement as the administrator.
func (r *rights) exec(format string, args ...any) {
	r.t.Helper()
	stmt := fmt.Sprintf(format, args...)
	if err := r.session.Query(stmt).ExecContext(r.t.Context()); err != nil {
		r.t.Fatalf("%s: %v", stmt, err)
	}
}
