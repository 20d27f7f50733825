package standalone

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/engine/serve/overview"
)

const acceptAnn = "  requests: {users: [ann]}\n"

// archiveRequest asks to archive PVs.
func archiveRequest(user string, pvs ...string) *edit.Request {
	r := &edit.Request{Action: edit.Archive, User: user}
	for _, pv := range pvs {
		r.Channels = append(r.Channels, edit.Channel{PV: pv})
	}
	return r
}

// request sends a request when the driver has read the files, and returns the result of its first PV.
func (p *fixture) request(r *edit.Request) edit.Result {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		results, err := p.driver.Edit(p.t.Context(), r)
		var refusal *edit.Refusal
		if errors.As(err, &refusal) && refusal.Code == http.StatusServiceUnavailable && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return results[0]
	}
}

func (p *fixture) read(file string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, file+".yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// accepting starts a driver whose group one accepts requests of ann, and waits until the driver knows it.
func startAccepting(t *testing.T) *fixture {
	p := start(t)
	p.group("one", acceptAnn, "SR:B", "SR:A")
	p.eventuallyAccepts(1)
	return p
}

func (p *fixture) eventuallyAccepts(files int) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.driver.mu.Lock()
		n := len(p.driver.accepting)
		p.driver.mu.Unlock()
		if n == files {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%d files accept requests, want %d", n, files)
		}
	}
}

// TestRequestsChangeManifests checks that a request changes the file, that the PV is captured, and that the next request sees the
// change at once, before the driver has read the file again.
func TestRequestsChangeManifests(t *testing.T) {
	p := startAccepting(t)
	if err := os.Chmod(filepath.Join(p.dir, "one.yaml"), 0o640); err != nil {
		t.Fatal(err)
	}
	if r := p.request(archiveRequest("ann", "SR:C")); r.Outcome != edit.Done || r.Group != "default/one" {
		t.Fatalf("%+v", r)
	}
	if r := p.request(&edit.Request{Action: edit.Pause, User: "ann", Channels: []edit.Channel{{PV: "SR:C"}}}); r.Outcome != edit.Done {
		t.Errorf("a PV that was just added cannot be paused: %+v", r)
	}
	if got := p.read("one"); !strings.HasSuffix(got, "  - {name: \"SR:A\"}\n  - {name: \"SR:C\", paused: true}\n") && !strings.HasSuffix(got, "  - {name: \"SR:A\"}\n  - {name: 'SR:C', paused: true}\n") {
		t.Errorf("the file is\n%s", got)
	}
	if info, err := os.Stat(filepath.Join(p.dir, "one.yaml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has other permissions: %v %v", info.Mode(), err)
	}
	p.request(&edit.Request{Action: edit.Remove, User: "ann", Channels: []edit.Channel{{PV: "SR:C"}}})
	p.request(archiveRequest("ann", "SR:D"))
	p.eventually("SR:A SR:B SR:D", "")
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) != 1 {
		t.Errorf("temporary files are left: %v %v", entries, err)
	}
}

// TestManyRequestsAtOnce checks that none of many concurrent requests is lost.
func TestManyRequestsAtOnce(t *testing.T) {
	p := startAccepting(t)
	const n = 40
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if results, err := p.driver.Edit(t.Context(), archiveRequest("ann", fmt.Sprintf("SR:N%02d", i))); err != nil || results[0].Outcome != edit.Done {
				t.Errorf("request %d: %+v %v", i, results, err)
			}
		})
	}
	all.Wait()
	if got := strings.Count(p.read("one"), "SR:N"); got != n {
		t.Errorf("the file has %d of %d PVs", got, n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.driver.editing() <- struct{}{} // another edit lasts
	if _, err := p.driver.Edit(ended, archiveRequest("ann", "SR:X")); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that is gone waits: %v", err)
	}
}

// TestManifestsThatMustNotChange checks files that a request cannot change: those that are read-only or broken, and groups that do
// not accept requests. All of them keep their bytes.
func TestManifestsThatMustNotChange(t *testing.T) {
	p := startAccepting(t)
	file, before := filepath.Join(p.dir, "one.yaml"), p.read("one")
	if r := p.request(archiveRequest("bob", "SR:C")); r.Outcome != edit.Refused || !strings.Contains(r.Reason, `does not accept requests of user "bob"`) {
		t.Errorf("bob: %+v", r)
	}
	if err := os.WriteFile(file, []byte(before+"  typo: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.driver.Edit(t.Context(), archiveRequest("ann", "SR:C")); err == nil || !strings.Contains(err.Error(), "one.yaml is invalid") {
		t.Errorf("a broken file: %v", err)
	}
	p.group("one", "", "SR:B", "SR:A")
	p.eventuallyAccepts(0)
	if r := p.request(archiveRequest("ann", "SR:C")); r.Outcome != edit.Refused || !strings.Contains(r.Reason, "no ArchiveGroup accepts") {
		t.Errorf("a group that accepts nothing: %+v", r)
	}
	if got := p.read("one"); strings.Contains(got, "SR:C") {
		t.Errorf("the file is\n%s", got)
	}
}

// TestRequestsWithoutSendersAreAProblem checks that the author of a group learns that nobody can send requests.
func TestRequestsWithoutSendersAreAProblem(t *testing.T) {
	p := startWith(t, nil, func(d *Driver) { d.Anonymous = true })
	p.group("one", acceptAnn, "SR:B", "SR:A")
	p.eventually("SR:A SR:B", "requests has no effect")
	p.eventuallyGroups("the group has the problem", func(groups []overview.Group, _ string) bool {
		return len(groups) == 1 && len(groups[0].Problems) == 1 && strings.Contains(groups[0].Problems[0].Advice, "--access")
	})
}

// TestReplaceFile checks how a file is replaced: through a link, only if nobody else changed it, and with no trace after an error.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.yaml"), filepath.Join(dir, "link.yaml")
	write(t, file, "old")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(link, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != file {
		t.Errorf("the link is replaced: %q %v", target, err)
	}
	if err := replaceFile(file, []byte("old"), []byte("lost")); !errors.Is(err, errChanged) {
		t.Errorf("a file that somebody changed: %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "new" {
		t.Errorf("the file has %q: %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v: %v", entries, err)
	}
	if err := replaceFile(filepath.Join(dir, "none"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}
