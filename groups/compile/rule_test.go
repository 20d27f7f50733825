package compile

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
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

// TestAnExpressionThatTakesLongIsRefused checks the limit of what an expression costs for each name.
func TestAnExpressionThatTakesLongIsRefused(t *testing.T) {
	for _, e := range []string{
		strings.Repeat(".{0,1000}", 27) + "[!#]", strings.Repeat(".{0,99}", 3), "((" + strings.Repeat("x", 200) + "){9}){9}", "(.{30}|.{40}){5}",
	} {
		if _, err := newMatcher(e); err == nil || !strings.Contains(err.Error(), "may have at most 300: shorten it, or repeat less") {
			t.Errorf("%.40s: %v", e, err)
		}
	}
	for _, e := range []string{
		strings.Repeat("x", 256), strings.Repeat("x|", 128), strings.Repeat("x.*", 85), "^SR[0-9]{2}-[A-Z]{1,8}-[0-9]{4}:(X|Y){2}$", "^.{10,99}$", strings.Repeat("()", 80), "(?i)" + strings.Repeat("é", 126),
	} {
		if _, err := newMatcher(e); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	costly := strings.Repeat(".{0,99}", 4)
	spec := v1alpha1.ArchiveGroupSpec{
		Rules: []v1alpha1.Rule{{Match: costly, Paused: ptr(true)}}, Pauses: []v1alpha1.PlannedPause{{From: at(-time.Hour), To: at(time.Hour), Reason: "x", Match: costly}},
		Channels: channels("A"),
	}
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, spec)}, nil, Archive{Shards: 4}, now)
	var problems string
	for _, p := range r.Groups["ns/a"].Problems {
		problems += p.Message + "\n"
	}
	if !strings.Contains(problems, "parsing rules[0].match: the expression has about") || !strings.Contains(problems, "parsing pauses[0].match: the expression has about") ||
		byPV(r)["A"].Settings.Paused {
		t.Errorf("%+v, problems: %s", byPV(r)["A"].Settings, problems)
	}
}

// TestInstructionsAgreeWithTheCompiler compares the estimate with the program.
func TestInstructionsAgreeWithTheCompiler(t *testing.T) {
	more := []string{"x{2,4}", "x{0,50}", "x{3,}", "(ab|cd){5}", "(a{3}b){4}", "(x.*)+y?", "[a-z]{7}[^:]*", "(?i)abc", "(?:a|bb|ccc)*", strings.Repeat("x|", 128), strings.Repeat("()", 80)}
	for _, e := range append(more, expressions...) {
		tree, err := syntax.Parse(e, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		estimate := instructions(tree)
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(program.Inst); estimate > n+5 || n > estimate+5+estimate/5 {
			t.Errorf("%q has %d instructions, and the estimate is %d", e, n, estimate)
		}
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
