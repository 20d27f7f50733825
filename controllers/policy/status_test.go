package policy

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/compile"
)

func TestStatus(t *testing.T) {
	now := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	compiled := &outcome.Outcome{
		Groups:   map[string]*compile.Group{"ns/vacuum": {}, "ns/thief": {}},
		Policies: map[string]*compile.PolicyOutcome{"vac": {Channels: 3, Refused: map[string]int{"ns/thief": 2}}},
	}
	fine := &outcome.Outcome{Groups: map[string]*compile.Group{"ns/vacuum": {}}, Policies: map[string]*compile.PolicyOutcome{"vac": {Channels: 3}}}
	for name, c := range map[string]struct {
		enforcement        v1alpha1.PolicyEnforcement
		archiver           *v1alpha1.Archiver
		outcome            *outcome.Outcome
		effective, warning string // status and reason
		message            string // part of the warning
		channels, refused  int32
	}{
		"no Archiver":  {effective: "False ArchiverNotFound", warning: "Unknown ArchiverNotFound", message: `no Archiver "main"`},
		"not compiled": {archiver: &v1alpha1.Archiver{}, effective: "True Enforced", warning: "Unknown Compiling"},
		"fine":         {archiver: &v1alpha1.Archiver{}, outcome: fine, effective: "True Enforced", warning: "False NoProblems", channels: 3},
		"refuses":      {archiver: &v1alpha1.Archiver{}, outcome: compiled, effective: "True Enforced", warning: "True CheckPolicy", message: "it refuses channels of the ArchiveGroups ns/thief (2 channels)", channels: 3, refused: 2},
		"warns": {
			enforcement: v1alpha1.WarnOfPolicy, archiver: &v1alpha1.Archiver{}, outcome: compiled,
			effective: "False WarnOnly", warning: "True CheckPolicy", message: "it would refuse", channels: 3, refused: 2,
		},
		"unused": {archiver: &v1alpha1.Archiver{}, outcome: &outcome.Outcome{}, effective: "True Enforced", warning: "True CheckPolicy", message: "nobody archives"},
	} {
		p := &v1alpha1.ArchivePolicy{ObjectMeta: metav1.ObjectMeta{Name: "vac", Namespace: "ns", Generation: 4}, Spec: v1alpha1.ArchivePolicySpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Prefixes: []v1alpha1.PVPrefix{"SR:VAC:"}, Enforcement: c.enforcement,
			Owners:  v1alpha1.PolicyOwners{ArchiveGroups: []string{"vacuum"}},
			Readers: &v1alpha1.PolicyReaders{Everybody: true},
		}}
		in := &input{policy: p, all: []v1alpha1.ArchivePolicy{*p}, archiver: c.archiver, outcome: c.outcome, now: now}
		got := compute(in)
		describe := func(kind string) (string, string) {
			found := meta.FindStatusCondition(got.Conditions, kind)
			return string(found.Status) + " " + found.Reason, found.Message
		}
		effective, _ := describe(v1alpha1.ConditionEffective)
		warning, message := describe(v1alpha1.ConditionWarning)
		if effective != c.effective || warning != c.warning || !strings.Contains(message, c.message) {
			t.Errorf("%s: %s, %s: %s; want %s, %s: %s", name, effective, warning, message, c.effective, c.warning, c.message)
		}
		if got.Channels != c.channels || got.Refused != c.refused || got.ObservedGeneration != 4 {
			t.Errorf("%s: the status is %+v", name, got)
		}
		p.Status = &got
		in.now = now.Add(time.Hour)
		if again := compute(in); !equality.Semantic.DeepEqual(got, again) {
			t.Errorf("%s: the status changes with time: %+v, then %+v", name, got, again)
		}
	}
}
