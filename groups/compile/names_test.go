package compile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/policy"
)

// named returns a channel with other names: NAME<OLD,OLD@ALIAS,ALIAS.
func named(text string) v1alpha1.Channel {
	text, aliases, _ := strings.Cut(text, "@")
	name, former, _ := strings.Cut(text, "<")
	list := func(text string) (out []v1alpha1.PVName) {
		for _, n := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
			out = append(out, v1alpha1.PVName(n))
		}
		return out
	}
	return v1alpha1.Channel{Name: name, Formerly: list(former), Aliases: list(aliases)}
}

func namedGroup(name string, minutes int, texts ...string) v1alpha1.ArchiveGroup {
	g := group(name, minutes, v1alpha1.ArchiveGroupSpec{})
	for _, text := range texts {
		g.Spec.Channels = append(g.Spec.Channels, named(text))
	}
	return g
}

func TestOtherNames(t *testing.T) {
	many := "Z<"
	for i := range 16 {
		many += fmt.Sprint("Z", i, ",")
	}
	for name, tc := range map[string]struct {
		groups []v1alpha1.ArchiveGroup
		want   map[string]capture.Names // of the PVs that have any
		// problems are parts of the problems, by group and PV. All others must have none.
		problems map[string]string
	}{
		"canonical names": {
			groups: []v1alpha1.ArchiveGroup{namedGroup("a", 0, "ca://NEW.VAL<pva://OLD.VAL,OLDER@ALIAS.VAL")},
			want:   map[string]capture.Names{"NEW": {Former: []string{"OLD", "OLDER"}, Aliases: []string{"ALIAS"}}},
		},
		"a chain": {
			groups: []v1alpha1.ArchiveGroup{namedGroup("a", 0, "C<B"), namedGroup("b", 1, "B<A")},
			want:   map[string]capture.Names{"C": {Former: []string{"B"}}, "B": {Former: []string{"A"}}},
		},
		"the former name as an alias": {
			groups: []v1alpha1.ArchiveGroup{namedGroup("a", 0, "B<A@A")},
			want:   map[string]capture.Names{"B": {Former: []string{"A"}, Aliases: []string{"A"}}},
		},
		"its own name": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A<A.VAL", "B@B")},
			problems: map[string]string{"ns/a A": "its former name is its own name", "ns/a B": "its alias is its own name"},
		},
		"a cycle": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A<B", "B<C"), namedGroup("b", 1, "C<A")},
			want:     map[string]capture.Names{"A": {Former: []string{"B"}}, "B": {Former: []string{"C"}}},
			problems: map[string]string{"ns/b C": "its former name A is ignored: C is a former name of A"},
		},
		"a former name of two PVs": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("b", 1, "A<OLD,OTHER"), namedGroup("a", 0, "B<OLD")},
			want:     map[string]capture.Names{"B": {Former: []string{"OLD"}}, "A": {Former: []string{"OTHER"}}},
			problems: map[string]string{"ns/b A": "its former name OLD is ignored: it is also a former name of B in group ns/a"},
		},
		"an alias of two PVs": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A@X", "B@X")},
			want:     map[string]capture.Names{"A": {Aliases: []string{"X"}}},
			problems: map[string]string{"ns/a B": "its alias X is ignored: it is also an alias of A in group ns/a"},
		},
		"an alias that is a channel": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A@X"), namedGroup("b", 1, "X")},
			problems: map[string]string{"ns/a A": "its alias X is ignored: group ns/b archives X as a PV of its own"},
		},
		"two groups, one with names": {
			groups: []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A"), namedGroup("b", 1, "A<OLD")},
			want:   map[string]capture.Names{"A": {Former: []string{"OLD"}}},
		},
		"two groups with other names": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A<X"), namedGroup("b", 1, "A<Y")},
			want:     map[string]capture.Names{"A": {Former: []string{"X"}}},
			problems: map[string]string{"ns/b A": "those of the older group ns/a are used"},
		},
		"too many": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, many, "Z1<A")},
			want:     map[string]capture.Names{"Z1": {Former: []string{"A"}}},
			problems: map[string]string{"ns/a Z": "there are at least 17; at most 16 are allowed"},
		},
		"an invalid name": {
			groups:   []v1alpha1.ArchiveGroup{namedGroup("a", 0, "A<\x01")},
			problems: map[string]string{"ns/a A": "its former name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Compile(tc.groups, nil, Archive{Shards: 8}, now)
			got := map[string]capture.Names{}
			for pv, ch := range byPV(r) {
				if ch.Names != nil {
					got[pv] = *ch.Names
				}
			}
			if tc.want == nil {
				tc.want = map[string]capture.Names{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			for key, g := range r.Groups {
				for _, p := range g.Problems {
					if want, expected := tc.problems[key+" "+p.PV]; !expected || !strings.Contains(p.Message, want) {
						t.Errorf("group %s: %s: %s; want %q", key, p.PV, p.Message, want)
					}
					delete(tc.problems, key+" "+p.PV)
				}
			}
			for at, want := range tc.problems {
				t.Errorf("%s: there is no problem %q", at, want)
			}
		})
	}
}

// TestOtherNamesChangeTheFingerprint makes sure that a group counts as out of date until engines know its names.
func TestOtherNamesChangeTheFingerprint(t *testing.T) {
	seen := map[uint64]string{}
	for _, text := range []string{"A", "A<B", "A@B", "A<C", "A<B@C"} {
		g := Compile([]v1alpha1.ArchiveGroup{namedGroup("a", 0, text)}, nil, Archive{Shards: 8}, now).Groups["ns/a"]
		if other, twice := seen[g.Fingerprint]; twice {
			t.Errorf("%s has the fingerprint of %s", text, other)
		}
		seen[g.Fingerprint] = text
	}
}

// TestNamesOfOthersAreRefused checks that a group cannot use the names of PVs that policies let others own.
func TestNamesOfOthersAreRefused(t *testing.T) {
	set := policy.New([]policy.Policy{{Name: "rf", Prefixes: []string{"RF:"}, Owners: policy.Owners{ArchiveGroups: []string{"rf"}}}})
	r := Compile([]v1alpha1.ArchiveGroup{namedGroup("a", 0, "A<RF:OLD,B@RF:X")}, nil, Archive{Shards: 8, Policies: set, Planned: set}, now)
	if names := byPV(r)["A"].Names; names == nil || len(names.Aliases) > 0 || fmt.Sprint(names.Former) != "[B]" {
		t.Errorf("names are %+v", names)
	}
	if p := r.Groups["ns/a"].Problems; len(p) != 2 || !strings.Contains(p[0].Message, "its former name RF:OLD is ignored: ArchivePolicy rf") {
		t.Errorf("problems are %v", p)
	}
}

// TestALongCircleOfNamesEnds gives each of some PVs the next one as its former name, in a circle.
func TestALongCircleOfNamesEnds(t *testing.T) {
	for _, n := range []int{15, 16, 17, 18, 19, 40} {
		g := namedGroup("a", 0)
		for i := range n {
			g.Spec.Channels = append(g.Spec.Channels, named(fmt.Sprintf("C%02d<C%02d", i, (i+1)%n)))
		}
		r := Compile([]v1alpha1.ArchiveGroup{g}, nil, Archive{Shards: 8}, now)
		former := map[string]string{}
		for pv, ch := range byPV(r) {
			if ch.Names != nil {
				former[pv] = ch.Names.Former[0]
			}
		}
		for pv := range former {
			steps := 0
			for ; former[pv] != ""; pv = former[pv] {
				if steps++; steps > MaxFormer {
					t.Fatalf("a circle of %d names: %s has more than %d former names", n, pv, MaxFormer)
				}
			}
		}
		if len(r.Groups["ns/a"].Problems) == 0 || len(former) < min(n-1, MaxFormer) {
			t.Errorf("a circle of %d names: %d have former names, problems %v", n, len(former), r.Groups["ns/a"].Problems)
		}
	}
}

// TestALongChainOfNamesIsCompiledQuickly compiles a chain of 200,000 names, each the former name of the one before. If the whole
// rest was counted for each name, that would take minutes.
func TestALongChainOfNamesIsCompiledQuickly(t *testing.T) {
	var groups []v1alpha1.ArchiveGroup
	for i := range 200 {
		g := namedGroup(fmt.Sprint("g", i), i)
		for k := range 1000 {
			g.Spec.Channels = append(g.Spec.Channels, named(fmt.Sprintf("C%06d<C%06d", 1000*i+k, 1000*i+k+1)))
		}
		groups = append(groups, g)
	}
	r := Compile(groups, nil, Archive{Shards: 64}, now)
	if g := r.Groups["ns/g0"]; g.Renamed != 0 || g.MoreProblems+len(g.Problems) != 1000 {
		t.Errorf("%d renamed, %d problems", g.Renamed, g.MoreProblems+len(g.Problems))
	}
	if g := r.Groups["ns/g199"]; g.Renamed != 16 {
		t.Errorf("%d of the oldest names are renamed, want 16", g.Renamed)
	}
}

// TestManyOtherNamesAreCompiledQuickly compiles 200,000 PVs with former names, beside a rule for each of 50 parts of the names.
func TestManyOtherNamesAreCompiledQuickly(t *testing.T) {
	var groups []v1alpha1.ArchiveGroup
	for i := range 200 {
		g := namedGroup(fmt.Sprint("g", i), i)
		for k := range 50 {
			g.Spec.Rules = append(g.Spec.Rules, v1alpha1.Rule{Match: fmt.Sprintf(":X%02d", k)})
		}
		for k := range 1000 {
			g.Spec.Channels = append(g.Spec.Channels, named(fmt.Sprintf("SR%03d:PV%04d<OLD%03d:PV%04d@AL%03d:PV%04d", i, k, i, k, i, k)))
		}
		groups = append(groups, g)
	}
	began := time.Now()
	r := Compile(groups, nil, Archive{Shards: 64}, now)
	t.Logf("compiled in %v", time.Since(began))
	if g := r.Groups["ns/g0"]; g.Renamed != 1000 || g.Aliases != 1000 || len(g.Problems) > 0 {
		t.Errorf("%d renamed, %d aliases, problems %v", g.Renamed, g.Aliases, g.Problems)
	}
}

// manyNames returns 200 groups with 1,000 PVs each, which have 50 rules and other names.
func manyNames() (groups []v1alpha1.ArchiveGroup) {
	rules, listed := manyRules(200_000)
	for i, name := range listed.Names {
		if i%1000 == 0 {
			groups = append(groups, group(fmt.Sprintf("g%03d", len(groups)), len(groups), *rules.Spec.DeepCopy()))
		}
		spec := &groups[len(groups)-1].Spec
		spec.Channels = append(spec.Channels, named(fmt.Sprintf("%s<OLD:%s@ALIAS:%s", name, name, name)))
	}
	return groups
}

// BenchmarkOtherNames compiles 200,000 PVs with 50 rules, a former name and an alias each. It must take less than 2 s.
func BenchmarkOtherNames(b *testing.B) {
	groups := manyNames()
	for b.Loop() {
		Compile(groups, nil, Archive{Shards: 64}, now)
	}
}
