package standalone

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/compile"
)

// fixture is a directory of groups with a Driver, and the assignment that the Driver applied.
type fixture struct {
	t   *testing.T
	dir string

	driver *Driver

	mu      sync.Mutex
	applied string // names of the captured PVs, sorted, with their tiers except forever
	log     bytes.Buffer
}

// Write receives the log.
func (p *fixture) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *fixture) apply(a engine.Assignment) {
	var names []string
	for _, shard := range a {
		for _, ch := range shard.Channels {
			name := ch.PV
			if ch.Settings.Provider != capture.CA {
				name = compile.Name(&ch)
			}
			if r := ch.Settings.Retention.Raw; r != store.Forever {
				name += "/" + r.String()
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	p.mu.Lock()
	p.applied = strings.Join(names, " ")
	p.mu.Unlock()
}

func (p *fixture) group(file, more string, pvs ...string) {
	p.t.Helper()
	text := "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: " + file +
		"}\nspec:\n  archiverRef: {name: main}\n" + more + "  channels:\n"
	for _, pv := range pvs {
		text += fmt.Sprintf("  - {name: %q}\n", pv)
	}
	if err := os.WriteFile(filepath.Join(p.dir, file+".yaml"), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// eventually waits until the captured PVs are the given ones and the log contains a text.
func (p *fixture) eventually(pvs, logged string) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		applied, log := p.applied, p.log.String()
		p.mu.Unlock()
		if applied == pvs && strings.Contains(log, logged) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the engine captures %q, want %q; the log must contain %q:\n%s", applied, pvs, logged, log)
		}
	}
}

func start(t *testing.T) *fixture {
	p := startWith(t, nil)
	p.eventually("SR:A SR:B", "groups applied")
	return p
}

// startWith starts a driver with policies and other changes, and the group one of the PVs SR:A and SR:B.
func startWith(t *testing.T, rules *Policies, changes ...func(*Driver)) *fixture {
	p := &fixture{t: t, dir: t.TempDir()}
	p.group("one", "", "SR:B", "SR:A")
	ctx, cancel := context.WithCancel(t.Context())
	d := &Driver{Path: p.dir, Archive: compile.Archive{Shards: 8}, Apply: p.apply, Policies: rules, Log: slog.New(slog.NewTextHandler(p, nil)), Registerer: prometheus.NewRegistry()}
	for _, change := range changes {
		change(d)
	}
	p.driver = d
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return p
}

func TestEditsAreApplied(t *testing.T) {
	p := start(t)
	p.group("two", "", "SR:C", "SR:A")
	p.eventually("SR:A SR:B SR:C", "a PV is in several groups")
	p.group("one", "", "SR:D")
	p.eventually("SR:A SR:C SR:D", "")
	p.group("two", "  sampling: {mode: Often}\n", "SR:X")
	p.eventually("SR:A SR:C SR:D", "two.yaml") // the error names the file, and capture continues
	p.group("two", "", "SR:E")
	p.eventually("SR:D SR:E", "")
	if err := os.Remove(filepath.Join(p.dir, "one.yaml")); err != nil {
		t.Fatal(err)
	}
	p.eventually("SR:E", "")
}

func TestProvidersOfGroups(t *testing.T) {
	p := start(t)
	p.group("two", "  provider: PVA\n", "SR:C", "ca://SR:D")
	p.eventually("SR:A SR:B SR:D pva://SR:C", "")
	p.group("three", "", "SR:C")
	p.eventually("SR:A SR:B SR:C SR:D", "groups request a PV by different providers") // three comes before two
	p.group("three", "", "SR:D")
	p.eventually("SR:A SR:B SR:D pva://SR:C", "")
}

func TestAGroupEndsWhenItExpires(t *testing.T) {
	p := start(t)
	soon := time.Now().Add(3 * time.Second).UTC().Format(time.RFC3339)
	p.group("short", "  expiresAt: "+soon+"\n", "SR:C")
	p.eventually("SR:A SR:B SR:C", "")
	p.eventually("SR:A SR:B", "the group has expired")
}

func TestAProblemIsLoggedOnce(t *testing.T) {
	p := start(t)
	p.group("two", "  sampling: {mode: Often}\n", "SR:X")
	p.eventually("SR:A SR:B", "two.yaml")
	for i := range 3 {
		p.group("three", "", fmt.Sprintf("SR:%d", i))
		p.eventually(fmt.Sprintf("SR:%d SR:A SR:B", i), "")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := strings.Count(p.log.String(), "spec.sampling.mode"); n != 1 {
		t.Errorf("the problem is logged %d times:\n%s", n, p.log.String())
	}
}

func (p *fixture) file(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// from returns a group that takes its names from a source.
func from(name, source string) string {
	return "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: " + name +
		"}\nspec:\n  archiverRef: {name: main}\n  channelsFrom: [" + source + "]\n"
}

func TestNamesFromConfigMaps(t *testing.T) {
	p := start(t)
	p.file("two.yaml", from("two", "{configMap: {name: pvs}}"))
	p.eventually("SR:A SR:B", `ConfigMap \"pvs\" is missing`)
	pvs := func(names string) {
		p.file("pvs.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pvs}\ndata: {list: \""+names+"\"}\n")
	}
	pvs("SR:X # the first\\nSR:Y")
	p.eventually("SR:A SR:B SR:X SR:Y", "")
	pvs("pva://SR:Y\\nSR Z")
	p.eventually("SR:A SR:B pva://SR:Y", `line 2`)

	// A missing ConfigMap does not stop capture. An edit that removes it from the group does.
	if err := os.Remove(filepath.Join(p.dir, "pvs.yaml")); err != nil {
		t.Fatal(err)
	}
	p.group("three", "", "SR:T")
	p.eventually("SR:A SR:B SR:T pva://SR:Y", "")
	p.file("two.yaml", from("two", "{configMap: {name: other}}"))
	p.file("other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {list: SR:O}\n")
	p.eventually("SR:A SR:B SR:O SR:T", "")
}

func TestNamesFromChannelFinder(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ChannelFinder/resources/channels" || r.FormValue("~tag") != "archive" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `[{"name":"SR:CF1","owner":"o","properties":[],"tags":[{"name":"archive"}]},{"name":"SR:CF2"}]`)
	}))
	defer service.Close()
	p := start(t)
	p.file("two.yaml", from("two", "{channelFinder: {url: '"+service.URL+"/ChannelFinder', query: '~tag=archive'}}"))
	p.eventually("SR:A SR:B SR:CF1 SR:CF2", "")
	p.file("three.yaml", from("three", "{channelFinder: {url: '"+service.URL+"/wrong', query: '~tag=archive'}}"))
	p.eventually("SR:A SR:B SR:CF1 SR:CF2", "HTTP 404 Not Found")
}

// TestSettingsWithoutEffectAreLogged checks that the log names settings that have no effect
// outside of a cluster, and describes the retention.
func TestSettingsWithoutEffectAreLogged(t *testing.T) {
	p := start(t)
	p.group("two", "  deletionPolicy: Delete\n  retention: {raw: 45d}\n", "SR:C")
	p.eventually("SR:A SR:B SR:C/90d", "raw samples are kept for 90d (requested: 45d)")
	p.eventually("SR:A SR:B SR:C/90d", "deletionPolicy Delete works only in a cluster")
}

// TestRetentionFollowsTheFile checks that an edit of the retention reaches the engine, and
// that the log describes the new retention.
func TestRetentionFollowsTheFile(t *testing.T) {
	p := start(t)
	p.group("one", "  retention: {raw: 5d}\n", "SR:A", "SR:B")
	p.eventually("SR:A/7d SR:B/7d", "raw samples are kept for 7d (requested: 5d)")
	p.group("two", "  retention: {raw: 1y, rollups: [{every: 1m, keep: 2y}]}\n", "SR:B")
	p.eventually("SR:A/7d SR:B/1y", "raw samples are kept for 1y, rollups of 1m for 2y")
	p.group("one", "", "SR:A", "SR:B")
	p.eventually("SR:A SR:B", "")
}

// TestProblemsShowUntilTheyAreMended checks that a broken edit is visible for as long as it lasts.
func TestProblemsShowUntilTheyAreMended(t *testing.T) {
	p := start(t)
	if w := p.driver.Warnings(); len(w) > 0 {
		t.Errorf("warnings of valid files: %v", w)
	}
	p.group("one", "  sampling: {mode: Often}\n", "SR:X")
	p.eventually("SR:A SR:B", "one.yaml")
	p.await("the broken edit is in the warnings", func() bool {
		w := p.driver.Warnings()
		return len(w) == 1 && strings.Contains(w[0], "one.yaml")
	})
	var m dto.Metric
	if err := p.driver.problems.WithLabelValues("error").Write(&m); err != nil || m.GetGauge().GetValue() != 1 {
		t.Errorf("the metric is %v: %v", &m, err)
	}
	p.group("one", "", "SR:B")
	p.eventually("SR:B", "")
	p.await("no warning is left", func() bool { return len(p.driver.Warnings()) == 0 })
}

func (p *fixture) await(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("not true: %s", what)
		}
	}
}
