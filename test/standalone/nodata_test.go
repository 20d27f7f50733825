package standalone

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// guarded is the script of an IOC with a record that no client may read.
const guarded = `
import code, tempfile
from epicscorelibs import ioc
def file(text):
    f = tempfile.NamedTemporaryFile("w", delete=False)
    f.write(text)
    f.close()
    return f.name
ioc.iocshRegisterCommon()
ioc.ioc("asSetFilename " + file("ASG(DEFAULT) { RULE(1, WRITE) }\nASG(CLOSED) { RULE(1, NONE) }\n"))
ioc.start_ioc(file("".join('record(ao, "T:%s") { field(VAL, "1") field(PINI, "YES") field(ASG, "%s") }\n' % r
    for r in [("OPEN", "DEFAULT"), ("GONE", "DEFAULT"), ("SHUT", "CLOSED")])))
code.interact(local={"ioc": ioc.ioc})
`

// TestWhyThereIsNoData checks that marks, status and `varve get` say why a PV has no data: it was
// never found, an IOC denies access, it was removed from its group, or the archiver was stopped.
func TestWhyThereIsNoData(t *testing.T) {
	ioc := epics.StartCAServer(t, guarded)
	groups, data := t.TempDir(), t.TempDir()
	program.WriteGroup(t, groups, "kept", program.Group("kept", "", "T:OPEN", "T:SHUT", "T:NOWHERE"))
	program.WriteGroup(t, groups, "other", program.Group("other", "", "T:GONE"))
	begin := time.Now()
	var a *program.Archiver
	start := func() { a = program.Standalone(t, ioc.ClientEnv(), "-f", groups, "--data", data) }
	kinds := func(pv string) (kinds []string) {
		for _, m := range a.Marks(pv, begin) {
			kinds = append(kinds, m.Kind)
		}
		return kinds
	}
	marked := func(pv string, want ...string) {
		t.Helper()
		program.Eventually(t, pv+" has the marks "+strings.Join(want, ", "), func() bool { return slices.Equal(kinds(pv), want) })
	}
	says := func(want string, args ...string) {
		t.Helper()
		expect(t, append(args, "--url", a.URL), regexp.QuoteMeta(want))
	}
	start()
	a.AwaitConnected(2)
	asked := "no server has answered; asked by UDP " + ioc.CAAddr()
	marked("T:NOWHERE", "searching")
	marked("T:SHUT", "access_denied")
	says("searching: "+asked, "get", "T:NOWHERE")
	says(asked, "status", "--channels")
	says("access_denied: "+ioc.CAAddr()+": the server denies read access", "get", "T:SHUT")

	if err := os.Remove(filepath.Join(groups, "other.yaml")); err != nil {
		t.Fatal(err)
	}
	marked("T:GONE", "connected", "removed")
	says("removed: no group captures the PV; the last group was default/other", "get", "T:GONE")

	a.Stop()
	start()
	a.AwaitConnected(1)
	marked("T:OPEN", "connected", "stopped", "connected")
	marked("T:NOWHERE", "searching", "stopped", "searching")
	marked("T:GONE", "connected", "removed")
	says("removed: no group captures the PV", "get", "T:GONE")
}
