package requests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/serve/edit"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// group returns a group of the namespace lab that accepts requests of ann and of the group scripts.
func group(t *testing.T, name, spec string) *v1alpha1.ArchiveGroup {
	t.Helper()
	g := &v1alpha1.ArchiveGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &g.Spec); err != nil {
		t.Fatal(err)
	}
	if g.Spec.Requests == nil {
		g.Spec.Requests = &v1alpha1.ChangeRequests{Users: []v1alpha1.AccessName{"ann"}, Groups: []v1alpha1.AccessName{"scripts"}}
	}
	return g
}

// channelsOf returns the channels of a group as YAML in one line.
func channelsOf(t *testing.T, g *v1alpha1.ArchiveGroup) string {
	t.Helper()
	var lines []string
	for i := range g.Spec.Channels {
		text, err := yaml.Marshal(&g.Spec.Channels[i])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\n", "; ")), " "))
	}
	return strings.ReplaceAll(strings.Join(lines, " | "), ";", "")
}

func by(user string, action edit.Action, channels ...edit.Channel) *edit.Request {
	return &edit.Request{Action: action, User: user, Channels: channels}
}

// captured returns a PV that a group archives.
func captured(pv, group string) edit.Channel {
	return edit.Channel{PV: pv, Archived: &edit.Archived{Group: group, Provider: "CA"}}
}

// TestRequestsChangeChannels carries out each action on one group.
func TestRequestsChangeChannels(t *testing.T) {
	sampling := func(pv string, method edit.Method, period time.Duration) edit.Channel {
		return edit.Channel{PV: pv, Sampling: &edit.Sampling{Method: method, Period: period}}
	}
	alias := func(pv, alias string) edit.Channel { return edit.Channel{PV: pv, Alias: alias} }
	abort := captured("A", "lab/vac")
	abort.Archived.Connected = true
	for _, c := range []struct {
		spec    string
		action  edit.Action
		channel edit.Channel
		want    string // the channels; or "= " and why nothing changes; or "! " and why it is refused
	}{
		{"", edit.Archive, edit.Channel{PV: "A"}, "name: A"},
		{"channels: [{name: A}]", edit.Archive, edit.Channel{PV: "B", Provider: "PVA"}, "name: A | name: B provider: PVA"},
		{"provider: PVA", edit.Archive, edit.Channel{PV: "B", Provider: "PVA"}, "name: B"},
		{"channels: [{name: A.VAL}]", edit.Archive, edit.Channel{PV: "A"}, "= ArchiveGroup lab/vac archives PV A already"},
		{"", edit.Archive, captured("A", "lab/other"), "= ArchiveGroup lab/other archives PV A already"},
		{"", edit.Archive, edit.Channel{PV: "A*"}, "! A* has a * or ?"},
		{"", edit.Archive, edit.Channel{PV: "A B"}, `! "A B" is not the name of a PV`},
		{"", edit.Archive, edit.Channel{PV: ""}, `! "" is not the name of a PV`},
		{"requests: {users: [ann], match: '^SR:'}", edit.Archive, edit.Channel{PV: "SR:A"}, "name: SR:A"},
		{"requests: {users: [ann], match: '^SR:'}", edit.Archive, edit.Channel{PV: "A"}, "! ArchiveGroup lab/vac accepts only PVs that match ^SR:"},
		{"expiresAt: 2026-11-26T11:59:59Z", edit.Archive, edit.Channel{PV: "A"}, "! ArchiveGroup lab/vac expired at 2026-11-26T11:59:59Z"},
		{"", edit.Archive, edit.Channel{PV: "A", Group: "vac"}, "name: A"},
		{"", edit.Archive, edit.Channel{PV: "A", Group: "rf"}, "! parameter policy: no ArchiveGroup rf accepts requests"},
		{"", edit.Archive, alias("A", "B"), "aliases: - B name: A"},
		{"channels: [{name: A}]", edit.Archive, alias("A", "B"), "aliases: - B name: A"},

		{"", edit.Archive, sampling("A", edit.Monitor, time.Second), "name: A"},
		{"", edit.Archive, sampling("A", edit.Scan, 1500*time.Millisecond), "name: A sampling: mode: Scan period: 1500ms"},
		{"sampling: {mode: Scan, period: 1m}", edit.Archive, sampling("A", edit.Scan, time.Minute), "name: A"},
		{"sampling: {mode: Scan, period: 1m}", edit.Archive, sampling("A", edit.Monitor, 0), "name: A sampling: mode: Monitor"},
		{"rules: [{match: A, sampling: {mode: Scan, period: 5s}}]", edit.Archive, sampling("A", edit.Scan, 5*time.Second), "name: A"},
		{"", edit.Archive, sampling("A", edit.Scan, 50*time.Millisecond), "! parameter samplingperiod: the method SCAN requires a period of at least 100ms"},
		{"", edit.Archive, sampling("A", edit.Scan, 100*time.Microsecond+time.Second), "! parameter samplingperiod: 1.0001s is not a whole number of milliseconds"},
		{"", edit.Archive, sampling("A", edit.Scan, 400*24*time.Hour), "! parameter samplingperiod: a period is at most 365 days"},

		{"channels: [{name: A}]", edit.Pause, edit.Channel{PV: "A"}, "name: A paused: true"},
		{"channels: [{name: A, paused: true}]", edit.Pause, edit.Channel{PV: "A"}, "= PV A is already paused"},
		{"paused: true\nchannels: [{name: A}]", edit.Pause, edit.Channel{PV: "A"}, "= PV A is already paused"},
		{"channels: [{name: A, paused: true, properties: [DESC]}]", edit.Resume, edit.Channel{PV: "A"}, "name: A properties: - DESC"},
		{"channels: [{name: A}]", edit.Resume, edit.Channel{PV: "A"}, "= PV A is not paused"},
		{"paused: true\nchannels: [{name: A}]", edit.Resume, edit.Channel{PV: "A"}, "! ArchiveGroup lab/vac is paused, or a rule"},
		{"rules: [{match: A, paused: true}]\nchannels: [{name: A, paused: true}]", edit.Resume, edit.Channel{PV: "A"}, "! ArchiveGroup lab/vac is paused, or a rule"},
		{"", edit.Pause, edit.Channel{PV: "A"}, "= PV A is not being archived"},
		{"", edit.Pause, captured("A", "lab/other"), "! ArchiveGroup lab/other defines how PV A is archived, and accepts no requests"},
		{"channels: [{name: A}]", edit.Pause, captured("A", "lab/other"), "! PV A is also in ArchiveGroup lab/other"},
		{"channelsFrom: [{configMap: {name: x}}]", edit.Pause, captured("A", "lab/vac"), "name: A paused: true provider: CA"},

		{"channels: [{name: A, paused: true}, {name: B}]", edit.Remove, edit.Channel{PV: "A"}, "name: B"},
		{"channels: [{name: A}]", edit.Remove, edit.Channel{PV: "A"}, "= We will not stop archiving PV A if it is not paused."},
		{"channelsFrom: [{configMap: {name: x}}]\nchannels: [{name: A, paused: true}]", edit.Remove, edit.Channel{PV: "A"}, "! ArchiveGroup lab/vac also takes PVs from elsewhere"},
		{"channels: [{name: A}]", edit.Abort, edit.Channel{PV: "A"}, ""},
		{"channels: [{name: A}]", edit.Abort, abort, "= PV A has been connected"},
		{"channels: [{name: B}]", edit.Remove, captured("A", "lab/vac"), "= We will not stop"},

		{"channels: [{name: A}]", edit.AddAlias, alias("A", "B"), "aliases: - B name: A"},
		{"channels: [{name: A, aliases: [B.VAL]}]", edit.AddAlias, alias("A", "B"), "= B is an alias of PV A already"},
		{"channels: [{name: A}, {name: B}]", edit.AddAlias, alias("A", "B"), "! ArchiveGroup lab/vac archives B as a PV of its own"},
		{"channels: [{name: A}, {name: C, aliases: [B]}]", edit.AddAlias, alias("A", "B"), "! B is an alias of another PV already"},
		{"channels: [{name: A}]", edit.AddAlias, edit.Channel{PV: "A", Alias: "B", AliasGroup: "lab/rf"}, "! ArchiveGroup lab/rf archives B as a PV of its own"},
		{"channels: [{name: A}]", edit.AddAlias, alias("A", "A"), "! A is the name of the PV itself"},
		{"channels: [{name: A}]", edit.AddAlias, alias("A", "B*"), "! the alias B* has a * or ?"},
		{"channels: [{name: A, aliases: [B, C]}]", edit.RemoveAlias, alias("A", "B"), "aliases: - C name: A"},
		{"channels: [{name: A, aliases: [B]}]", edit.RemoveAlias, alias("A", "B"), "name: A"},
		{"channels: [{name: A}]", edit.RemoveAlias, alias("A", "B"), "= B is not an alias of PV A"},

		{"channels: [{name: A}]", edit.Resample, sampling("A", edit.Scan, 5*time.Second), "name: A sampling: mode: Scan period: 5s"},
		{"channels: [{name: A, sampling: {mode: Scan, period: 5s}}]", edit.Resample, sampling("A", "", 7*time.Second), "name: A sampling: mode: Scan period: 7s"},
		{"channels: [{name: A, sampling: {mode: Scan, period: 1m}}]", edit.Resample, sampling("A", edit.Scan, time.Minute), "= PV A is sampled so already"},
		{"channels: [{name: A, sampling: {mode: Scan, period: 5s}}]", edit.Resample, sampling("A", edit.Monitor, time.Second), "name: A"},
		{"channels: [{name: A, sampling: {deadband: {absolute: 1}, clock: Engine}}]", edit.Resample, sampling("A", edit.Scan, time.Second), "name: A sampling: clock: Engine mode: Scan period: 1s"},
		{"channels: [{name: A}]", edit.Resample, sampling("A", "", time.Second), "= PV A is sampled so already"},
	} {
		g := group(t, "vac", c.spec)
		before := channelsOf(t, g)
		changed, results := Plan([]*v1alpha1.ArchiveGroup{g}, by("ann", c.action, c.channel), nil, now)
		what := fmt.Sprintf("%s %+v in a group with %q", c.action, c.channel, c.spec)
		if channelsOf(t, g) != before {
			t.Errorf("%s: the given group has changed", what)
		}
		reason, unchanged := strings.CutPrefix(c.want, "= ")
		refusal, refused := strings.CutPrefix(c.want, "! ")
		switch r := results[0]; {
		case unchanged && (r.Outcome != edit.Unchanged && r.Outcome != edit.Unfit || !strings.HasPrefix(r.Reason, reason) || len(changed) > 0):
			t.Errorf("%s: %+v, want %q", what, r, reason)
		case refused && (r.Outcome != edit.Refused || !strings.HasPrefix(r.Reason, refusal) || len(changed) > 0):
			t.Errorf("%s: %+v, want a refusal %q", what, r, refusal)
		case unchanged || refused:
		case r.Outcome != edit.Done || r.Group != "lab/vac" || len(changed) != 1 || channelsOf(t, changed[0]) != c.want:
			got := ""
			if len(changed) == 1 {
				got = channelsOf(t, changed[0])
			}
			t.Errorf("%s: %+v, channels %q, want %q", what, r, got, c.want)
		}
	}
}

// TestWhoMayChangeAGroup checks identities against groups and policies.
func TestWhoMayChangeAGroup(t *testing.T) {
	vacuum := policy.New([]policy.Policy{
		{Name: "vacuum", Prefixes: []string{"VAC:"}, Owners: policy.Owners{ArchiveGroups: []string{"vac"}, Users: []string{"ann"}}},
		{Name: "secret", Prefixes: []string{"SECRET:"}, Owners: policy.Owners{ArchiveGroups: []string{"elsewhere"}}},
	})
	for _, c := range []struct {
		user, groups, pv string
		policies         *policy.Set
		refusal          string // "" if the PV is added
	}{
		{"ann", "", "A", nil, ""},
		{"bob", "scripts", "A", nil, ""},
		{"scripts", "ann", "A", nil, `ArchiveGroup lab/vac does not accept requests of user "scripts"`},
		{"", "", "A", nil, `ArchiveGroup lab/vac does not accept requests of user ""`},
		{"anonymous", "", "A", nil, `ArchiveGroup lab/vac does not accept requests of user "anonymous"`},
		{"ann", "", "VAC:A", vacuum, ""},
		{"bob", "scripts", "VAC:A", vacuum, "an ArchivePolicy lets only its owners edit ArchiveGroup lab/vac"},
		{"bob", "scripts", "A", vacuum, "an ArchivePolicy lets only its owners edit ArchiveGroup lab/vac"},
		{"ann", "", "SECRET:A", vacuum, "an ArchivePolicy does not let ArchiveGroup lab/vac archive SECRET:A"},
	} {
		r := by(c.user, edit.Archive, edit.Channel{PV: c.pv})
		r.Groups = strings.Fields(c.groups)
		changed, results := Plan([]*v1alpha1.ArchiveGroup{group(t, "vac", "")}, r, c.policies, now)
		if done := len(changed) == 1 && results[0].Outcome == edit.Done; done != (c.refusal == "") || !strings.HasPrefix(results[0].Reason, c.refusal) {
			t.Errorf("user %q of %q adds %s: %+v, want %q", c.user, c.groups, c.pv, results[0], c.refusal)
		}
		if strings.Contains(results[0].Reason, "secret") {
			t.Errorf("a refusal names a policy: %s", results[0].Reason)
		}
	}
	// An alias must be owned, too, and so must the PVs that are paused.
	listed := group(t, "vac", "channels: [{name: VAC:A}, {name: SECRET:B}]")
	for action, ch := range map[edit.Action]edit.Channel{
		edit.AddAlias: {PV: "VAC:A", Alias: "SECRET:A"}, edit.Pause: {PV: "SECRET:B"},
	} {
		if _, results := Plan([]*v1alpha1.ArchiveGroup{listed}, by("ann", action, ch), vacuum, now); results[0].Outcome != edit.Refused {
			t.Errorf("%s %+v: %+v", action, ch, results[0])
		}
	}
	if _, results := Plan([]*v1alpha1.ArchiveGroup{listed}, by("bob", edit.Pause, edit.Channel{PV: "VAC:A"}), nil, now); results[0].Outcome != edit.Refused {
		t.Errorf("bob pauses a PV: %+v", results[0])
	}
}

// TestSeveralGroups checks which group takes a PV, and that a request that fits several of them changes none.
func TestSeveralGroups(t *testing.T) {
	groups := []*v1alpha1.ArchiveGroup{
		group(t, "rf", "requests: {users: [ann], match: '^RF:'}\nchannels: [{name: BOTH}]"),
		group(t, "vac", "channels: [{name: BOTH}]"),
		group(t, "bobs", "requests: {users: [bob]}"),
	}
	for _, c := range []struct{ pv, named, want string }{
		{"A", "", "lab/vac"}, {"RF:A", "", "! several ArchiveGroups accept PV RF:A: name one of them with the parameter policy: lab/rf, lab/vac"},
		{"RF:A", "rf", "lab/rf"}, {"RF:A", "lab/vac", "lab/vac"}, {"A", "bobs", "! ArchiveGroup lab/bobs does not accept requests"}, {"A", "other/vac", "! parameter policy"},
	} {
		_, results := Plan(groups, by("ann", edit.Archive, edit.Channel{PV: c.pv, Group: c.named}), nil, now)
		why, refused := strings.CutPrefix(c.want, "! ")
		if r := results[0]; refused && (r.Outcome != edit.Refused || !strings.HasPrefix(r.Reason, why)) || !refused && (r.Outcome != edit.Done || r.Group != c.want) {
			t.Errorf("%s for %q: %+v, want %q", c.pv, c.named, r, c.want)
		}
	}
	if changed, results := Plan(groups, by("ann", edit.Pause, edit.Channel{PV: "BOTH"}), nil, now); len(changed) > 0 || results[0].Outcome != edit.Refused {
		t.Errorf("a PV in two groups is paused: %+v", results[0])
	}
	if _, results := Plan(nil, by("ann", edit.Archive, edit.Channel{PV: "A"}), nil, now); results[0].Outcome != edit.Refused || !strings.HasPrefix(results[0].Reason, "no ArchiveGroup accepts PV A") {
		t.Errorf("without groups: %+v", results[0])
	}
}

// TestAGroupIsBounded fills a group in one request, up to its limit.
func TestAGroupIsBounded(t *testing.T) {
	var channels []edit.Channel
	for i := range edit.MaxChannels + 1 {
		channels = append(channels, edit.Channel{PV: fmt.Sprintf("A%d", i)})
	}
	changed, results := Plan([]*v1alpha1.ArchiveGroup{group(t, "vac", "")}, by("ann", edit.Archive, channels...), nil, now)
	if n := len(changed[0].Spec.Channels); n != edit.MaxChannels {
		t.Errorf("the group has %d channels", n)
	}
	if r := results[edit.MaxChannels]; r.Outcome != edit.Refused || !strings.Contains(r.Reason, "lists 1000 PVs, and may not list more") {
		t.Errorf("the last PV: %+v", r)
	}
	// The same PV twice in a request is added once.
	changed, results = Plan([]*v1alpha1.ArchiveGroup{group(t, "vac", "")}, by("ann", edit.Archive, edit.Channel{PV: "A"}, edit.Channel{PV: "A"}), nil, now)
	if len(changed[0].Spec.Channels) != 1 || results[1].Outcome != edit.Unchanged {
		t.Errorf("a PV twice: %+v", results)
	}
}
