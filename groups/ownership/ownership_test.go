package ownership

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

func archivePolicy(name string, change func(*v1alpha1.ArchivePolicySpec)) v1alpha1.ArchivePolicy {
	p := v1alpha1.ArchivePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1alpha1.ArchivePolicySpec{
		ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Prefixes: []v1alpha1.PVPrefix{"SR:VAC:"},
		Owners: v1alpha1.PolicyOwners{ArchiveGroups: []string{"vacuum"}, Groups: []v1alpha1.AccessName{"vacuum"}},
	}}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func TestOnlyEnforcedPoliciesOfTheArchiverCount(t *testing.T) {
	list := []v1alpha1.ArchivePolicy{
		archivePolicy("vacuum", nil),
		archivePolicy("planned", func(s *v1alpha1.ArchivePolicySpec) {
			s.Prefixes, s.Enforcement = []v1alpha1.PVPrefix{"SR:MAG:"}, v1alpha1.WarnOfPolicy
		}),
		archivePolicy("elsewhere", func(s *v1alpha1.ArchivePolicySpec) {
			s.Prefixes, s.ArchiverRef.Name = []v1alpha1.PVPrefix{"SR:RF:"}, "other"
		}),
	}
	for pv, want := range map[string][2]bool{"SR:VAC:P": {true, true}, "SR:MAG:I": {false, true}, "SR:RF:F": {false, false}} {
		_, enforced := Enforced(list, "main").Refuses("magnets", pv)
		_, planned := Planned(list, "main").Refuses("magnets", pv)
		if got := [2]bool{enforced, planned}; got != want {
			t.Errorf("%s: enforced and planned policies refuse: %t, want %t", pv, got, want)
		}
	}
	v := Enforced(list, "main").For("ann", []string{"vacuum"})
	if !v.Sees("SR:VAC:P") || Enforced(list, "main").For("bob", nil).Sees("SR:VAC:P") {
		t.Error("the groups of owners are not those who may read")
	}
}

func TestReadersAreConverted(t *testing.T) {
	list := []v1alpha1.ArchivePolicy{archivePolicy("vacuum", func(s *v1alpha1.ArchivePolicySpec) {
		s.Owners.Users = []v1alpha1.AccessName{"ann"}
		s.Readers = &v1alpha1.PolicyReaders{Users: []v1alpha1.AccessName{"carl"}, Groups: []v1alpha1.AccessName{"control-room"}}
	})}
	for who, want := range map[[2]string]bool{
		{"ann", ""}: true, {"carl", ""}: true, {"x", "control-room"}: true, {"x", "vacuum"}: true, {"x", "staff"}: false,
	} {
		if got := Enforced(list, "main").For(who[0], []string{who[1]}).Sees("SR:VAC:P"); got != want {
			t.Errorf("user and group %q: sees the PV: %t, want %t", who, got, want)
		}
	}
	list[0].Spec.Readers = &v1alpha1.PolicyReaders{Everybody: true}
	if !Enforced(list, "main").For("x", nil).Sees("SR:VAC:P") {
		t.Error("everybody does not see the PV")
	}
}

func TestWarnings(t *testing.T) {
	static := []v1alpha1.Authenticator{
		{Anonymous: &v1alpha1.AnonymousAccess{Groups: []v1alpha1.AccessName{"visitors"}}},
		{Networks: []v1alpha1.NetworkAccess{{CIDR: "10.1.0.0/16", Groups: []v1alpha1.AccessName{"control-room"}}}},
	}
	tokens := v1alpha1.Authenticator{Tokens: &v1alpha1.TokenAccess{}}
	read := func(readers v1alpha1.PolicyReaders) func(*v1alpha1.ArchivePolicySpec) {
		return func(s *v1alpha1.ArchivePolicySpec) { s.Readers = &readers }
	}
	for name, c := range map[string]struct {
		change  func(*v1alpha1.ArchivePolicySpec)
		access  []v1alpha1.Authenticator
		groups  []string
		others  []v1alpha1.ArchivePolicy
		refused map[string]int
		want    string // "" is no warning
	}{
		"nothing":                  {access: []v1alpha1.Authenticator{tokens}, groups: []string{"a", "vacuum"}},
		"no access":                {groups: []string{"vacuum"}, want: "nobody can read"},
		"no access, but everybody": {change: read(v1alpha1.PolicyReaders{Everybody: true}), groups: []string{"vacuum"}},
		"no access, but anonymous": {change: read(v1alpha1.PolicyReaders{Users: []v1alpha1.AccessName{"anonymous"}}), groups: []string{"vacuum"}},
		"unknown groups":           {access: static, groups: []string{"vacuum"}, want: "nobody can read"},
		"group of a network":       {change: read(v1alpha1.PolicyReaders{Groups: []v1alpha1.AccessName{"control-room"}}), access: static, groups: []string{"vacuum"}},
		"group of visitors":        {change: read(v1alpha1.PolicyReaders{Groups: []v1alpha1.AccessName{"visitors"}}), access: static, groups: []string{"vacuum"}},
		"a network":                {change: read(v1alpha1.PolicyReaders{Users: []v1alpha1.AccessName{"10.1.0.0/16"}}), access: static, groups: []string{"vacuum"}},
		"no owner":                 {access: []v1alpha1.Authenticator{tokens}, groups: []string{"magnets"}, want: "nobody archives"},
		"same prefix": {
			access: []v1alpha1.Authenticator{tokens}, groups: []string{"vacuum"}, others: []v1alpha1.ArchivePolicy{archivePolicy("twin", nil)},
			want: "ArchivePolicy twin has the prefix SR:VAC:, too",
		},
		"refused": {
			access: []v1alpha1.Authenticator{tokens}, groups: []string{"vacuum"}, refused: map[string]int{"ns/b": 2, "ns/a": 1},
			want: "it refuses channels of the ArchiveGroups ns/a (1 channels), ns/b (2 channels)",
		},
		"would refuse": {
			change: func(s *v1alpha1.ArchivePolicySpec) { s.Enforcement = v1alpha1.WarnOfPolicy },
			access: []v1alpha1.Authenticator{tokens}, groups: []string{"vacuum"}, refused: map[string]int{"ns/a": 1, "ns/b": 1, "ns/c": 1, "ns/d": 1, "ns/e": 1, "ns/f": 1},
			want: "it would refuse channels of the ArchiveGroups ns/a (1 channels), ns/b (1 channels), ns/c (1 channels), ns/d (1 channels), ns/e (1 channels) and 1 more",
		},
	} {
		p, a := archivePolicy("vacuum", c.change), &v1alpha1.Archiver{}
		if c.access != nil {
			a.Spec.Retrieval.Access = &v1alpha1.RetrievalAccess{Authenticators: c.access}
		}
		got := Warnings(&p, &Facts{Archiver: a, All: append(c.others, p), Groups: c.groups, Outcome: &compile.PolicyOutcome{Refused: c.refused}})
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
