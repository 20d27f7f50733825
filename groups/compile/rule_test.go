package compile

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
)

// TestTheFirstRuleApplies checks which settings a PV has: those of the channel, else of its first rule, else of
// the group.
func TestTheFirstRuleApplies(t *testing.T) {
	no, yes := false, true
	spec := v1alpha1.ArchiveGroupSpec{
		Sampling: &v1alpha1.Sampling{MaxRate: ptr(10.0), Clock: v1alpha1.EngineClock}, Properties: []v1alpha1.Property{"DESC"},
		Rules: []v1alpha1.Rule{
			{Match: ":TEMP$", Sampling: &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: ptr(v1alpha1.Duration("10s"))}, Retention: retention("1y")},
			{Match: "^SR:.*:TEMP$|:RAW$", Paused: &yes, Properties: []v1alpha1.Property{}},
			{Match: "(?i)^tune"},
			{Match: "^(SR|BO):.*", Sampling: &v1alpha1.Sampling{MaxRate: ptr(1.0)}},
			{Match: "^NONE$"},
		},
		Channels: []v1alpha1.Channel{
			{Name: "SR:A:TEMP"}, {Name: "SR:A:RAW"}, {Name: "SR:B:RAW", Paused: &no}, {Name: "TUNE:X"}, {Name: "SR:I"}, {Name: "LINAC:I"},
			{Name: "BO:TEMP", Sampling: &v1alpha1.Sampling{Period: ptr(v1alpha1.Duration("1m"))}},
		},
	}
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, spec)}, map[string]Listed{"ns/a": {Names: []string{"BO:X", "ca://BO:Y.VAL"}}}, Archive{Shards: 4}, now)
	of := func(change func(*capture.Settings)) capture.Settings {
		s := capture.Settings{Events: capture.EventLog | capture.EventAlarm, Clock: capture.EngineClock, MaxRate: 10}
		change(&s)
		return s
	}
	kept, err := retentionOf(retention("1y"))
	if err != nil {
		t.Fatal(err)
	}
	scan := func(period time.Duration, r store.Retention) capture.Settings {
		return of(func(s *capture.Settings) {
			s.Mode, s.Period, s.MaxRate, s.Properties, s.Retention = capture.Scan, period, 0, "DESC", r
		})
	}
	described := func(rate float64) capture.Settings {
		return of(func(s *capture.Settings) { s.MaxRate, s.Properties = rate, "DESC" })
	}
	want := map[string]capture.Settings{
		"SR:A:TEMP": scan(10*time.Second, kept), "BO:TEMP": scan(time.Minute, kept),
		"SR:A:RAW": of(func(s *capture.Settings) { s.Paused = true }), "SR:B:RAW": of(func(*capture.Settings) {}),
		"TUNE:X": described(10), "LINAC:I": described(10), "SR:I": described(1), "BO:X": described(1), "BO:Y": described(1),
	}
	got := map[string]capture.Settings{}
	for pv, ch := range byPV(r) {
		got[pv] = *ch.Settings
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	out := r.Groups["ns/a"]
	if want := []int{2, 2, 1, 3, 0}; !slices.Equal(out.ByRule, want) {
		t.Errorf("the rules apply to %v PVs, want %v", out.ByRule, want)
	}
	if unused := out.UnusedRules(); !slices.Equal(unused, []int{4}) || !out.Retention || out.Paused != 1 {
		t.Errorf("unused: %v, the group is %+v", unused, out)
	}
	if find := RuleFinder(&spec); find("SR:A:RAW") != 1 || find("LINAC:I") != -1 {
		t.Error("the finder finds another rule than the compilation")
	}
}

// TestARuleCanRequestTwoEngines checks the redundancy of rules.
func TestARuleCanRequestTwoEngines(t *testing.T) {
	spec := v1alpha1.ArchiveGroupSpec{Redundancy: 1, Rules: []v1alpha1.Rule{{Match: "^A", Redundancy: ptr(int32(2))}}, Channels: channels("A", "B")}
	g := []v1alpha1.ArchiveGroup{group("a", 0, spec)}
	if r := Compile(g, nil, Archive{Shards: 4}, now); r.Groups["ns/a"].Redundant != 1 {
		t.Errorf("%d PVs have two engines", r.Groups["ns/a"].Redundant)
	}
	if r := Compile(g, nil, Archive{Shards: 4, Alone: true}, now); len(r.Groups["ns/a"].Problems) != 1 {
		t.Errorf("with one engine the problems are %v", r.Groups["ns/a"].Problems)
	}
}

// TestAnInvalidRuleMatchesNothing checks a rule that Kubernetes would have refused.
func TestAnInvalidRuleMatchesNothing(t *testing.T) {
	spec := v1alpha1.ArchiveGroupSpec{Rules: []v1alpha1.Rule{{Match: "(", Paused: ptr(true)}}, Channels: channels("A")}
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, spec)}, nil, Archive{Shards: 4}, now)
	want := []Problem{{"", "parsing rules[0].match: error parsing regexp: missing closing ): `(`"}}
	if diff := cmp.Diff(want, r.Groups["ns/a"].Problems); diff != "" || byPV(r)["A"].Settings.Paused {
		t.Errorf("%s, %+v", diff, byPV(r)["A"].Settings)
	}
}

var expressions = []string{
	"", "A", "^A", "A$", "^A$", "^$", ".*", "^.*$", ".*A.*", "^.*A", "^A.*", "^A.*B$", "A.*B", "A|B", "^(A|AB)C", "(?i)a", "^(?i)a", "(A)", "(AB)C", "(A)$",
	"A+", "A?", "A{2}", "^A{0}B", "[A]", "[AB]$", "^[AB]+:[0-9]+$", "A\\.B", "^A.", "(?m)^A$", "(?s)A.*", ".*?A", "A.*?", "^(A).*(B)$", "\\bA", "^^A", "A$$", "B.*^A",
}

// TestMatcherAgreesWithTheExpression compares the matcher with regular expressions on all short names.
func TestMatcherAgreesWithTheExpression(t *testing.T) {
	names := []string{""}
	for begin, length := 0, 0; length < 4; length++ {
		end := len(names)
		for _, n := range names[begin:end] {
			for _, c := range []string{"A", "B", "a", ":", "0", ".", "C"} {
				names = append(names, n+c)
			}
		}
		begin = end
	}
	for _, e := range expressions {
		m, err := newMatcher(e)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(e)
		for _, n := range names {
			if got, want := m.matches(n), re.MatchString(n); got != want {
				t.Fatalf("%q matches %q: %v, want %v", e, n, got, want)
			}
		}
	}
}

// manyRules returns a group with 50 rules of the kinds that labs write, and n names.
func manyRules(n int) (v1alpha1.ArchiveGroup, Listed) {
	var spec v1alpha1.ArchiveGroupSpec
	for i := range 10 {
		for _, format := range []string{`^SR%02d-VA-.*:PRES`, `:TEMP-%02d$`, `^(BO|LT)%02d-[A-Z]+-\d+:I-(SP|RB)$`, `^FE\d+-.*-%02d:.*STATUS`, `-BPM-%02d:(X|Y|SUM)`} {
			spec.Rules = append(spec.Rules, v1alpha1.Rule{Match: fmt.Sprintf(format, i), Sampling: &v1alpha1.Sampling{MaxRate: ptr(float64(len(spec.Rules)))}})
		}
	}
	var l Listed
	signals := []string{"PRES-MON", "TEMP-01", "I-SP", "X", "STATUS"}
	for i := range n {
		l.Names = append(l.Names, fmt.Sprintf("%s%02d-%s-%04d:%s", []string{"SR", "BO", "FE", "ID"}[i%4], i/4%48, []string{"VA", "PS", "BPM"}[i/200%3], i/600, signals[i/7%5]))
	}
	return group("a", 0, spec), l
}

// BenchmarkRules compiles 200,000 PVs with 50 rules. It must take less than 2 s.
func BenchmarkRules(b *testing.B) {
	g, l := manyRules(200_000)
	for b.Loop() {
		Compile([]v1alpha1.ArchiveGroup{g}, map[string]Listed{"ns/a": l}, Archive{Shards: 64}, now)
	}
}
