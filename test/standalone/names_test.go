package standalone

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// counter returns the database of a record that counts ten times per second, with an alias.
func counter(name string) string {
	return archive.Counting([]string{name}) + fmt.Sprintf("alias(%q, %q)\n", name, "T:ALIAS")
}

// renamed returns the manifest of a group with one channel, given as YAML.
func renamed(channel string) string {
	return strings.Replace(program.Group("vacuum", "", "X"), `{name: "X"}`, channel, 1)
}

// TestRenamedRecord renames a record of a real IOC, and reads both names as one history, also by its alias, after a restart,
// and after the group is gone.
func TestRenamedRecord(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	if !strings.Contains(renamed("{name: T:OLD}"), "T:OLD") {
		t.Fatalf("the manifest has another form:\n%s", program.Group("vacuum", "", "X"))
	}
	program.WriteGroup(t, dir, "g", renamed("{name: T:OLD, aliases: [T:ALIAS]}"))
	ioc := epics.StartIOC(t, counter("T:OLD"))
	args := []string{"-f", dir, "--data", data, "--checkpoint", "2s"}
	a := program.Standalone(t, ioc.ClientEnv(), args...)
	begin := time.Now()
	a.AwaitConnected(1)
	program.Eventually(t, "the old name has samples", func() bool { return a.Channels()["T:OLD"].Stored > 20 })

	ioc.SetDatabase(counter("T:NEW"))
	ioc.Restart()
	program.WriteGroup(t, dir, "g", renamed("{name: T:NEW, formerly: [T:OLD], aliases: [T:ALIAS]}"))
	program.Eventually(t, "the new name has samples", func() bool {
		c := a.Channels()
		return c["T:NEW"].Stored > 20 && c["T:OLD"].PV == ""
	})
	old := a.Events("T:OLD", begin)
	check := func(what string) {
		t.Helper()
		for _, pv := range []string{"T:NEW", "T:ALIAS"} {
			got := a.Events(pv, begin)
			if len(got) < len(old)+20 || !slices.Equal(got[:len(old)], old) {
				t.Fatalf("%s: %s has %d samples, and its former name %d", what, pv, len(got), len(old))
			}
			for i := 1; i < len(got); i++ {
				if got[i].Time <= got[i-1].Time {
					t.Fatalf("%s: %s: sample %d is not after the one before: %v, %v", what, pv, i, got[i-1], got[i])
				}
			}
		}
	}
	check("after the rename")
	for path, want := range map[string]string{
		"/api/v1/channels/T:NEW":                            `"formerly":["T:OLD"],"aliases":["T:ALIAS"]`,
		"/api/v1/channels/T:ALIAS":                          `"pv":"T:ALIAS","aliasOf":"T:NEW"`,
		"/api/v1/pvs":                                       `"formerly":["T:OLD"],"aliases":["T:ALIAS"]`,
		"/mgmt/bpl/getAllAliases":                           `[{"aliasName":"T:ALIAS","srcPVName":"T:NEW"}]`,
		"/mgmt/bpl/getPVStatus?pv=T:ALIAS":                  `"pvName":"T:ALIAS","status":"Being archived"`,
		"/retrieval/bpl/getMatchingPVs?pv=T:OL*":            `["T:NEW","T:OLD"]`,
		"/retrieval/bpl/getMatchingPVs?pv=T:AL*":            `["T:ALIAS"]`,
		"/retrieval/data/getData.json?pv=T:ALIAS":           `"name":"T:ALIAS"`,
		"/retrieval/data/getData.json?pv=count_3600(T:NEW)": `"data"`,
	} {
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		code, body := a.Get(u.Path, u.Query())
		var flat any
		if err := json.Unmarshal(body, &flat); code != 200 || err != nil || !strings.Contains(strings.ReplaceAll(string(body), " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("%s answers %d: %.500s; want %s", path, code, body, want)
		}
	}
	seen := a.Channels()["T:NEW"].Stored
	program.Eventually(t, "samples are sealed", func() bool { return a.Channels()["T:NEW"].Stored > seen+30 })
	check("after checkpoints")

	a.Stop()
	program.WriteGroup(t, dir, "g", renamed("{name: T:OTHER}"))
	a = program.Standalone(t, ioc.ClientEnv(), args...)
	program.Eventually(t, "the other group is applied", func() bool { return a.Channels()["T:OTHER"].PV != "" })
	check("without the group, after a restart")

	// While the PV is captured, its group decides.
	program.WriteGroup(t, dir, "g", renamed("{name: T:NEW}"))
	program.Eventually(t, "the former name is removed", func() bool {
		code, body := a.Get("/api/v1/channels/T:NEW", nil)
		return code == 200 && !strings.Contains(string(body), "formerly") && len(a.Events("T:NEW", begin)) > 0
	})
	if got := a.Events("T:NEW", begin); got[0].Time < old[len(old)-1].Time {
		t.Errorf("the first sample is at %v, before the rename", time.Unix(0, got[0].Time))
	}
}
