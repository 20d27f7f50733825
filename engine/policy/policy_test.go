package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// site has an owner of all PVs, and tenants below it. The policies twin have the same prefix.
func site() *Set {
	return New([]Policy{
		{Name: "ring", Prefixes: []string{"SR:"}, Owners: Owners{ArchiveGroups: []string{"ring"}, Groups: []string{"operators"}}, Readers: Audience{Everybody: true}},
		{
			Name: "vacuum", Prefixes: []string{"SR:VAC:", "BR:VAC:"},
			Owners:  Owners{ArchiveGroups: []string{"vacuum", "vacuum-*"}, Users: []string{"ann"}, Groups: []string{"vacuum"}},
			Readers: Audience{Groups: []string{"control-room"}, Users: []string{"carl"}},
		},
		{Name: "secret", Prefixes: []string{"SR:VAC:X"}, Owners: Owners{ArchiveGroups: []string{"*"}, Users: []string{"zoe"}}},
		{Name: "twin1", Prefixes: []string{"LI:"}, Owners: Owners{ArchiveGroups: []string{"linac", "both"}}, Readers: Audience{Groups: []string{"linac", "both"}}},
		{Name: "twin2", Prefixes: []string{"LI:"}, Owners: Owners{ArchiveGroups: []string{"laser", "both"}}, Readers: Audience{Groups: []string{"laser", "both"}}},
	})
}

func TestWhoReads(t *testing.T) {
	s := site()
	for _, c := range []struct {
		user, groups, sees, hidden string
	}{
		{"ann", "", "SR:VAC:P1 BR:VAC:P1 SR:MAG:I OTHER SR:VAC SR:VAC:P1.DESC", "SR:VAC:X SR:VAC:XY SR:VAC:X.DESC LI:A"},
		{"bob", "vacuum", "SR:VAC:P1", "SR:VAC:X LI:A"},
		{"bob", "staff control-room", "SR:VAC:P1", "SR:VAC:X LI:A"},
		{"carl", "", "SR:VAC:P1 SR:MAG:I", "SR:VAC:X LI:A"},
		{"zoe", "", "SR:VAC:X SR:VAC:X1.VAL$", "SR:VAC:P1 LI:A"},
		{"bob", "staff", "SR:MAG:I OTHER", "SR:VAC:P1 SR:VAC:X LI:A"},
		{"bob", "linac", "SR:MAG:I", "LI:A"}, // one of two policies admits the group
		{"bob", "both", "LI:A", "SR:VAC:P1"},
		{"vacuum", "ann", "OTHER", "SR:VAC:P1 SR:VAC:X LI:A"}, // a user is no group, and a group no user
		{"", "", "OTHER SR:MAG:I", "SR:VAC:P1 SR:VAC:X LI:A"},
	} {
		v := s.For(c.user, strings.Fields(c.groups))
		for pv := range strings.FieldsSeq(c.sees) {
			if !v.Sees(pv) {
				t.Errorf("user %q, groups %q: %s is hidden", c.user, c.groups, pv)
			}
		}
		for pv := range strings.FieldsSeq(c.hidden) {
			if v.Sees(pv) {
				t.Errorf("user %q, groups %q: %s is visible", c.user, c.groups, pv)
			}
		}
		if v.All() {
			t.Errorf("user %q, groups %q sees all PVs", c.user, c.groups)
		}
	}
	if v := s.For("zoe", []string{"vacuum", "both"}); !v.All() || !v.Sees("SR:VAC:X") {
		t.Error("a reader whom every policy admits does not see all PVs")
	}
}

// TestEmptyNamesAreNobody checks malformed identities against malformed policies.
func TestEmptyNamesAreNobody(t *testing.T) {
	s := New([]Policy{{Prefixes: []string{"A"}, Owners: Owners{Users: []string{""}, Groups: []string{""}}, Readers: Audience{Users: []string{""}, Groups: []string{""}}}})
	if s.For("", []string{""}).Sees("A") {
		t.Error("a reader without a name sees a PV")
	}
}

func TestWhoOwns(t *testing.T) {
	s := site()
	for _, c := range []struct{ group, pv, policy string }{ // policy is the one that refuses
		{"vacuum", "SR:VAC:P1", ""}, {"vacuum-ring", "BR:VAC:P1.DESC", ""}, {"vacuums", "SR:VAC:P1", "vacuum"},
		{"ring", "SR:VAC:P1", "vacuum"}, {"ring", "SR:MAG:I", ""}, {"vacuum", "SR:MAG:I", "ring"}, {"any", "SR:VAC:X", ""},
		{"linac", "LI:A", "twin2"}, {"laser", "LI:A", "twin1"}, {"both", "LI:A", ""}, {"any", "OTHER", ""}, {"", "SR:MAG:I", "ring"},
	} {
		if got, refused := s.Refuses(c.group, c.pv); got != c.policy || refused != (c.policy != "") {
			t.Errorf("group %q, %s: refused by %q, want %q", c.group, c.pv, got, c.policy)
		}
		if got, want := s.KeepsData(c.group, c.pv), c.policy != "" || c.pv == "OTHER"; got != want {
			t.Errorf("group %q: the data of %s stays: %t, want %t", c.group, c.pv, got, want)
		}
	}
}

// TestWhoShowsValues checks whose values an ArchiveGroup may show to the readers of its own PVs.
func TestWhoShowsValues(t *testing.T) {
	s := site()
	for _, c := range []struct{ group, pv, policy string }{ // policy is the one that hides the PV
		{"vacuum", "SR:VAC:P1", ""}, {"ring", "SR:VAC:P1", "vacuum"}, {"vacuum", "SR:MAG:I", ""}, {"any", "OTHER", ""},
		{"linac", "LI:A", "twin2"}, {"both", "LI:A", ""}, {"any", "SR:VAC:X", ""}, {"any", "LI:A", "twin1"},
	} {
		if got, hidden := s.Hides(c.group, c.pv); got != c.policy || hidden != (c.policy != "") {
			t.Errorf("group %q: %s is hidden by %q, want %q", c.group, c.pv, got, c.policy)
		}
	}
	if _, hidden := (*Set)(nil).Hides("g", "A"); hidden {
		t.Error("a set without policies hides a PV")
	}
}

// TestWhoEdits checks who may edit the groups that own PVs. Readers and other owners may not.
func TestWhoEdits(t *testing.T) {
	s := site()
	for _, c := range []struct {
		group, user, groups string
		want                bool
	}{
		{"vacuum", "ann", "", false}, // the policy secret names all groups as owners, and only zoe as a person
		{"vacuum", "zoe", "", false}, {"vacuum", "zoe", "vacuum", true}, {"vacuum-ring", "zoe", "vacuum", true}, {"vacuum", "carl", "control-room", false},
		{"ring", "zoe", "operators", true}, {"other", "zoe", "", true}, {"other", "bob", "", false}, {"both", "zoe", "linac", false}, {"", "", "", false},
	} {
		if got := s.LetsEdit(c.group, c.user, strings.Fields(c.groups)); got != c.want {
			t.Errorf("user %q of %q edits group %q: %t, want %t", c.user, c.groups, c.group, got, c.want)
		}
	}
}

func TestNoPolicyRefusesNothing(t *testing.T) {
	for _, s := range []*Set{nil, New(nil)} {
		v := s.For("", nil)
		if _, refused := s.Refuses("g", "A"); refused || s.KeepsData("g", "A") || !s.LetsEdit("g", "", nil) || !v.All() || !v.Sees("A") || !s.Empty() {
			t.Error("a set without policies refuses something")
		}
	}
}

func TestAllIsThePrefixOfEveryPV(t *testing.T) {
	s := New([]Policy{{Name: "rest", Prefixes: []string{All}, Owners: Owners{ArchiveGroups: []string{"all"}}}, {Name: "a", Prefixes: []string{"A"}, Readers: Audience{Everybody: true}}})
	v := s.For("bob", nil)
	for pv, want := range map[string]bool{"": false, "*": false, "B": false, "A": true, "AB": true} {
		if v.Sees(pv) != want {
			t.Errorf("%q is visible: %t", pv, !want)
		}
	}
	if s.KeepsData("all", "B") || !s.KeepsData("other", "B") {
		t.Error("the policy of all PVs does not say who owns them")
	}
}

// TestTheLongestPrefixDecides compares with the definition, on random names and prefixes.
func TestTheLongestPrefixDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 1))
	name := func(most int) string {
		b := make([]byte, 1+r.IntN(most))
		for i := range b {
			b[i] = "AB:"[r.IntN(3)]
		}
		return string(b)
	}
	for range 500 {
		var policies []Policy
		for range 1 + r.IntN(6) {
			p := Policy{Prefixes: []string{name(5), name(5)}}
			if r.IntN(2) == 0 {
				p.Readers.Users = []string{"ann"}
			}
			policies = append(policies, p)
		}
		v := New(policies).For("ann", nil)
		for range 50 {
			pv := name(8)
			longest, want := -1, true
			for _, p := range policies {
				for _, prefix := range p.Prefixes {
					if !strings.HasPrefix(pv, prefix) || len(prefix) < longest {
						continue
					}
					if len(prefix) > longest {
						longest, want = len(prefix), true
					}
					want = want && len(p.Readers.Users) > 0
				}
			}
			if got := v.Sees(pv); got != want {
				t.Fatalf("%+v: %s is visible: %t, want %t", policies, pv, got, want)
			}
		}
	}
}
