package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// troubled is the script of an IOC whose records cause trouble: T:SHUT may not be read, and T:CLOCK has time stamps of 1990. The
// others count ten times per second.
const troubled = `
import code, tempfile
from epicscorelibs import ioc
def file(text):
    f = tempfile.NamedTemporaryFile("w", delete=False)
    f.write(text)
    f.close()
    return f.name
ioc.iocshRegisterCommon()
ioc.ioc("asSetFilename " + file("ASG(DEFAULT) { RULE(1, WRITE) }\nASG(CLOSED) { RULE(1, NONE) }\n"))
counter = 'record(calc, "T:%s") { field(INPA, "T:%s") field(CALC, "A+1") field(SCAN, ".1 second") %s }\n'
text = "".join(counter % (name, name, "") for name in ["OPEN", "GONE", "ENDED", "PAUSED", "PLANNED", "DISABLED", "BAND", "NEW", "FIXED"])
text += counter % ("CLOCK", "CLOCK", 'field(TSE, "-2")') + counter % ("SHUT", "SHUT", 'field(ASG, "CLOSED")')
text += 'alias("T:NEW", "T:ALIAS")\nrecord(ao, "T:OFF") { field(VAL, "0") field(PINI, "YES") }\n'
ioc.start_ioc(file(text))
code.interact(local={"ioc": ioc.ioc})
`

// symptom is what varve why says about a PV.
type symptom struct {
	pv string
	// ok means that samples arrive. Otherwise cause is the name of the cause.
	ok    bool
	cause string
	// says is a regular expression that the first line matches, after the cause.
	says string
	args []string
}

// asked returns the first line of varve why, and its exit code.
func (s *symptom) asked(t *testing.T, a *program.Archiver) (line string, code int) {
	t.Helper()
	p := program.Launch(t, nil, append([]string{"why", s.pv, "--url", a.URL}, s.args...)...)
	code = p.Wait()
	line, _, _ = strings.Cut(p.Out.String(), "\n")
	return line + p.Log.String(), code
}

// shows reports whether varve why names the cause.
func (s *symptom) shows(t *testing.T, a *program.Archiver) (line string, is bool) {
	t.Helper()
	line, code := s.asked(t, a)
	if s.ok {
		return line, code == 0 && regexp.MustCompile("^"+s.pv+": "+s.says).MatchString(line)
	}
	return line, code == 1 && regexp.MustCompile("^"+s.pv+": "+s.cause+"( since [^ ]* [^ ]*)?: .*"+s.says).MatchString(line)
}

// check waits until varve why names the cause.
func (s *symptom) check(t *testing.T, a *program.Archiver) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(program.Patience); ; a.GoOn(time.Second) {
		line, is := s.shows(t, a)
		if is {
			t.Log(line)
			return
		}
		if last = line; time.Now().After(deadline) {
			t.Errorf("%s %v: want %s, got\n%s", s.pv, s.args, s.cause, last)
			return
		}
	}
}

// TestLong_WhyNamesTheCause causes each kind of trouble on purpose, with a real IOC, and checks that varve why names it.
func TestLong_WhyNamesTheCause(t *testing.T) {
	ioc := epics.StartCAServer(t, troubled)
	groups := t.TempDir()
	write := func(name, settings string, pvs ...string) {
		t.Helper()
		program.WriteGroup(t, groups, name, program.Group(name, settings, pvs...))
	}
	utc := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	write("kept", "", "T:OPEN", "T:SHUT", "T:NOWHERE")
	write("removed", "", "T:GONE")
	write("ended", "", "T:ENDED")
	write("paused", "paused: true", "T:PAUSED")
	write("planned", fmt.Sprintf("pauses: [{from: %s, to: %s, reason: shutdown}]", utc(-time.Hour), utc(time.Hour)), "T:PLANNED")
	write("disabled", `enabledBy: {pv: "T:OFF", when: "!= 0"}`, "T:DISABLED")
	write("band", "sampling: {deadband: {absolute: 1e9}}", "T:BAND")
	write("clock", "sampling: {clockLimit: {onExceeded: Refuse}}", "T:CLOCK")
	write("fixed", fmt.Sprintf("deletions: [{pvs: [T:FIXED], from: %s, to: %s, reason: bad calibration}]", utc(-2*time.Hour), utc(-time.Hour)), "T:FIXED")
	program.WriteGroup(t, groups, "renamed", renamed("{name: T:NEW, formerly: [T:OLD], aliases: [T:ALIAS]}"))
	a := program.Standalone(t, ioc.ClientEnv(), "-f", groups, "--data", t.TempDir(), "--checkpoint", "2s")
	program.Eventually(t, "the PVs are connected", func() bool {
		all := a.Channels()
		return all["T:OPEN"].Stored > 5 && all["T:GONE"].Stored > 5 && all["T:ENDED"].Stored > 5 && all["T:NEW"].Stored > 5 && all["T:BAND"].Stored > 0
	})
	if err := os.Remove(filepath.Join(groups, "removed.yaml")); err != nil {
		t.Fatal(err)
	}
	write("ended", "expiresAt: "+utc(-time.Second), "T:ENDED")
	for _, s := range []symptom{
		{pv: "T:OPEN", ok: true, says: "samples arrive: the last one is of 20"},
		{pv: "T:NONE", cause: "unknown_pv", says: "no PV of this name"},
		{pv: "t:open", cause: "unknown_pv", says: `Did you mean T:OPEN\?`},
		{pv: "T:NOWHERE", cause: "searching", says: "asked by UDP " + regexp.QuoteMeta(ioc.CAAddr()) + `.* 1 of 3 PVs of group default/kept are connected`},
		{pv: "T:SHUT", cause: "access_denied", says: "the server denies read access"},
		{pv: "T:GONE", cause: "removed", says: "the last group was default/removed"},
		{pv: "T:ENDED", cause: "expired_group", says: `group default/ended ended at .* \(spec.expiresAt\)`},
		{pv: "T:PAUSED", cause: "paused", says: "group default/paused is paused.* Remove paused"},
		{pv: "T:PLANNED", cause: "paused", says: `shutdown \(planned from .* spec.pauses`},
		{pv: "T:DISABLED", cause: "disabled", says: "T:OFF != 0 has not been met since .*: T:OFF is 0"},
		{pv: "T:CLOCK", cause: "clock", says: "the time stamp of the IOC, 1990-01-01T00:00:00Z, is .* before its arrival, and the group refuses that"},
		{pv: "T:OLD", cause: "former_name", says: "T:OLD is a former name of T:NEW"},
		{pv: "T:ALIAS", ok: true, says: "samples arrive"},
		{pv: "T:FIXED", cause: "deleted", says: "were deleted on request.*bad calibration", args: []string{"--at", "-90m"}},
		{pv: "T:OPEN", cause: "not_yet", says: "it was not captured yet", args: []string{"--at", "-90m"}},
		{pv: "T:BAND", cause: "deadband", says: `within the deadband of the last sample, of .* \(deadband 1e\+09\)`}, // a minute after it
	} {
		s.check(t, a)
	}

	if err := os.WriteFile(filepath.Join(groups, "bad.yaml"), []byte(program.Group("bad", "sampling: {mode: Scan}", "T:BAD")), 0o600); err != nil {
		t.Fatal(err)
	}
	(&symptom{pv: "T:BAD", cause: "invalid_group", says: "a manifest is invalid: .*bad.yaml"}).check(t, a)

	line, code := (&symptom{pv: "T:OPEN", args: []string{"--at", "+1h"}}).asked(t, a)
	if code != 2 || !strings.Contains(line, "--at: +1h is in the future") {
		t.Errorf("a question about the future: exit code %d, %s", code, line)
	}

	ioc.Stop()
	(&symptom{pv: "T:OPEN", cause: "disconnected", says: regexp.QuoteMeta(ioc.CAAddr())}).check(t, a)
}
