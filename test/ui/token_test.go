package ui

import (
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/test/program"
)

// TestMain builds the program for the tests that run it, and ends the browser after all tests.
func TestMain(m *testing.M) {
	status := program.Main(m)
	stopBrowser()
	os.Exit(status)
}

// The PV of the tests with a token. No IOC has it: the tests are about who may read.
const guardedPV = "UITOKEN:VAC:PRES"

// newToken appends a token of a user to a file of tokens, and returns it.
func newToken(t *testing.T, file, user, group string) string {
	t.Helper()
	cmd := exec.Command(program.Path(), "token", "create", "--name", user, "--groups", group)
	var secret strings.Builder
	cmd.Stderr = &secret
	line, err := cmd.Output()
	if err != nil {
		t.Fatalf("making a token: %v: %s", err, secret.String())
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(line); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(secret.String())
	return words[len(words)-1]
}

// startGuarded starts `varve standalone --access` with two tokens: that of ann, who may read all PVs, and that of
// bob, who may not.
func startGuarded(t *testing.T) (url, ann, bob string) {
	t.Helper()
	dir := t.TempDir()
	ann, bob = newToken(t, filepath.Join(dir, "tokens"), "ann", "vacuum"), newToken(t, filepath.Join(dir, "tokens"), "bob", "staff")
	access := "access: [{tokens: {file: tokens}}]\nreaders: [{pvs: ['" + guardedPV + "'], groups: [vacuum]}]\ndefault: everybody\n"
	if err := os.WriteFile(filepath.Join(dir, "access.yaml"), []byte(access), 0o600); err != nil {
		t.Fatal(err)
	}
	groups := t.TempDir()
	program.WriteGroup(t, groups, "vacuum", program.Group("vacuum", "", guardedPV))
	env := []string{"EPICS_CA_ADDR_LIST=127.0.0.1:1", "EPICS_CA_AUTO_ADDR_LIST=NO"}
	p := program.Launch(t, env, "standalone", "--listen", "127.0.0.1:0", "-f", groups, "--data", filepath.Join(dir, "data"), "--access", filepath.Join(dir, "access.yaml"))
	program.Eventually(t, "varve accepts requests", func() bool {
		_, rest, found := strings.Cut(p.Log.String(), "msg=serving url=")
		if url = strings.TrimRight(strings.Fields(rest + " ?")[0], "/"); !found || !strings.Contains(rest, "\n") {
			url = ""
		}
		return url != ""
	})
	return url, ann, bob
}

// TestPageAsksForAToken checks the dialog for the token, what a token may not read, how the tab keeps the token, and
// how the user forgets it.
func TestPageAsksForAToken(t *testing.T) {
	url, ann, bob := startGuarded(t)
	p := open(t, url+"/archive")
	var leaked atomic.Bool
	chromedp.ListenTarget(p.ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok && (strings.Contains(e.Request.URL, ann) || strings.Contains(e.Request.URL, bob)) {
			leaked.Store(true)
		}
	})
	const asks = `document.querySelector("dialog[open] input") === document.activeElement`
	p.wait(asks + ` && document.querySelector("dialog h2").innerText === "The archive asks for a token"`)
	p.shoot("token-dark")
	p.run(chromedp.KeyEvent("a b"), chromedp.KeyEvent(kb.Enter))
	p.wait(`document.querySelector("dialog [role=alert]")?.innerText.startsWith("A token has no spaces")`)
	p.run(chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.querySelector("dialog") && document.querySelector(".page[data-state=failed] [role=alert]")?.innerText.includes("a token is required")`)

	enter := func(token string) { p.run(chromedp.SendKeys("dialog input", token+kb.Enter)) }
	p.run(chromedp.Click(`//button[text()="Enter a token"]`))
	p.wait(asks)
	enter("varve_wrong")
	p.wait(`document.querySelector("dialog [role=alert]")?.innerText.startsWith("The archive refused the token")`)
	enter(bob)
	p.wait(`!document.querySelector("dialog") && document.querySelector(".page[data-state=failed] [role=alert]")?.innerText.includes("only those who may read every PV")`)
	p.run(chromedp.Click(`//button[text()="Use another token"]`))
	p.wait(asks)
	enter(ann)
	p.wait(`document.querySelector(".page[data-state=ready] .tiles")`)

	p.run(chromedp.Click(`//nav/a[text()="PVs"]`))
	p.wait(`document.querySelector("tr[data-pv='` + guardedPV + `']") && !document.querySelector("dialog")`)
	p.run(chromedp.Reload())
	p.wait(`document.querySelector("tr[data-pv='` + guardedPV + `']") && !document.querySelector("dialog")`)
	var kept struct {
		Session, Local int
		URL            string
	}
	p.eval(`({ session: sessionStorage.length, local: Object.values(localStorage).join("").includes("varve_") ? 1 : 0, url: location.href })`, &kept)
	if kept.Session != 1 || kept.Local != 0 || strings.Contains(kept.URL, "varve_") || leaked.Load() {
		t.Errorf("the page keeps %+v; a URL of a request has the token: %t", kept, leaked.Load())
	}
	p.run(chromedp.Click(`//button[text()="Token in use"]`))
	p.wait(asks)
	p.run(chromedp.Click(`//button[text()="Forget the token"]`))
	p.wait(asks + ` && sessionStorage.length === 0 && !document.querySelector("tr[data-pv]")`)
}

// guard makes an archive demand tokens, and returns that of ann.
func (a *archive) guard() (ann string) {
	a.t.Helper()
	dir := a.t.TempDir()
	ann, line, err := access.NewToken("ann", nil, time.Now().Add(time.Hour))
	a.check(err)
	a.check(os.WriteFile(filepath.Join(dir, "tokens"), []byte(line+"\n"), 0o600))
	a.admit(filepath.Join(dir, "access.yaml"), "access: [{tokens: {file: tokens}}]\n", time.Now)
	return ann
}

// admit makes an archive apply an access file, which it writes, by a clock.
func (a *archive) admit(file, text string, now func() time.Time) {
	a.t.Helper()
	a.check(os.WriteFile(file, []byte(text), 0o600))
	config, err := access.Load(file)
	a.check(err)
	who, err := access.New(config, access.Options{Now: now, Log: slog.New(slog.DiscardHandler)})
	a.check(err)
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: a.store, Shards: 4}, Channels: nobody{}, Gatherer: reg, Metrics: serve.NewMetrics(reg), Registerer: reg, Reads: 8,
		Access: who, Ready: func() error { return nil }, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	a.check(err)
	a.server.Config.Handler = h
}

// TestLiveUpdatesWithAToken checks that all requests of a live plot send the token, and that the plot goes on
// with new samples.
func TestLiveUpdatesWithAToken(t *testing.T) {
	a := newArchive(t)
	start := time.Now().UnixNano() - 60*second
	r := &sample.Run{Type: sample.Float64}
	for i := range int64(10) {
		r.Append(&sample.Sample{Time: start + i*second, Word: math.Float64bits(float64(i))})
	}
	a.put("LIVE", r)
	ann := a.guard()
	p := open(t, a.server.URL+"/?pv=LIVE&from=-1h&to=now")
	p.wait(`document.querySelector("dialog[open]")`)
	p.run(chromedp.SendKeys("dialog input", ann+kb.Enter))
	p.wait(`document.querySelector(".page[data-live=true][data-state=ready] .value[data-rows='10']")`)
	more := &sample.Run{Type: sample.Float64}
	more.Append(&sample.Sample{Time: start + 20*second, Word: math.Float64bits(20)})
	a.put("LIVE", more)
	p.wait(`document.querySelector(".page[data-live=true][data-state=ready] .value[data-rows='11']")`)
	p.wait(`!document.querySelector(".banner") && !document.querySelector("dialog")`)
}
