package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/compile"
)

var (
	now     = time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	archive = compile.Archive{Shards: 8}
)

func group(name string, change func(*v1alpha1.ArchiveGroupSpec), pvs ...string) v1alpha1.ArchiveGroup {
	g := v1alpha1.ArchiveGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, pv := range pvs {
		g.Spec.Channels = append(g.Spec.Channels, v1alpha1.Channel{Name: pv})
	}
	if change != nil {
		change(&g.Spec)
	}
	return g
}

func compare(before State, files State, o Options) Plan {
	o.Now = now
	old := before.Compile(archive, nil, now)
	return Compare(old, before.With(files, o).Compile(archive, &old, now), archive)
}

func groups(list ...v1alpha1.ArchiveGroup) State { return State{Groups: list} }

// TestPlan checks what a plan says about each PV, and that its counts agree.
func TestPlan(t *testing.T) {
	scan := func(s *v1alpha1.ArchiveGroupSpec) {
		s.Sampling = &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: new(v1alpha1.Duration("10m"))}
	}
	deletes := func(s *v1alpha1.ArchiveGroupSpec) { s.DeletionPolicy = v1alpha1.DeleteData }
	expiredDeletes := func(s *v1alpha1.ArchiveGroupSpec) {
		deletes(s)
		s.ExpiresAt = new(metav1.NewTime(now.Add(-time.Hour)))
	}
	deleted := func(g v1alpha1.ArchiveGroup) v1alpha1.ArchiveGroup {
		g.DeletionTimestamp, g.Finalizers = new(metav1.NewTime(now)), []string{v1alpha1.DataFinalizer}
		return g
	}
	for _, c := range []struct {
		name          string
		before, files State
		options       Options
		want          []PV
		unchanged     int
	}{
		{name: "the same again", before: groups(group("a", nil, "A", "B")), files: groups(group("a", nil, "B", "A")), unchanged: 2},
		{
			name: "a PV is added and another one removed", before: groups(group("a", nil, "A", "B")), files: groups(group("a", nil, "B", "C")), unchanged: 1,
			want: []PV{{Name: "A", Action: Remove, Group: "ns/a"}, {Name: "C", Action: Add, Group: "ns/a"}},
		},
		{
			name: "other settings", before: groups(group("a", nil, "A"), group("b", nil, "B")), files: groups(group("a", scan, "A")), unchanged: 1,
			want: []PV{{Name: "A", Action: Change, Group: "ns/a", Settings: []Setting{{"sampling.mode", "Monitor", "Scan"}, {"sampling.period", "none", "10m"}}}},
		},
		{
			name: "a second engine is another shard", before: groups(group("a", nil, "A")), files: groups(group("a", func(s *v1alpha1.ArchiveGroupSpec) { s.Redundancy = 2 }, "A")),
			want: []PV{{Name: "A", Action: Change, Group: "ns/a", OtherShard: true, Settings: []Setting{{"redundancy", "1", "2"}}}},
		},
		{
			name: "a PV in another group", before: groups(group("a", nil, "A", "B")), files: groups(group("a", nil, "B"), group("c", nil, "A")), unchanged: 1,
			want: []PV{{Name: "A", Action: Move, Group: "ns/c", From: "ns/a"}},
		},
		{name: "groups that the files lack stay", before: groups(group("a", nil, "A"), group("b", nil, "B")), files: groups(group("a", nil, "A")), unchanged: 2},
		{
			name: "unless they are pruned", before: groups(group("a", nil, "A"), group("b", deletes, "B")), files: groups(group("a", nil, "A")),
			options: Options{Prune: true}, unchanged: 1, want: []PV{{Name: "B", Action: Remove, Group: "ns/b"}},
		},
		{
			name: "in a cluster the data goes, too", before: groups(group("a", nil, "A"), group("b", deletes, "A", "B")), files: groups(group("a", nil, "A")),
			options: Options{Prune: true, DeletesData: true}, unchanged: 1, want: []PV{{Name: "B", Action: Remove, Group: "ns/b", DeletesData: true}},
		},
		{
			name: "data of an expired group goes, too", before: groups(group("b", expiredDeletes, "B")), options: Options{Prune: true, DeletesData: true},
			want: []PV{{Name: "B", Action: Remove, Group: "ns/b", DeletesData: true}},
		},
		{
			name: "data of an expired group stays if another group has the PV", before: groups(group("a", nil, "B"), group("b", expiredDeletes, "B")),
			files: groups(group("a", nil, "B")), options: Options{Prune: true, DeletesData: true}, unchanged: 1,
		},
		{
			name: "data that is deleted already is no change", before: groups(deleted(group("b", deletes, "B"))), options: Options{Prune: true, DeletesData: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compare(c.before, c.files, c.options)
			if diff := cmp.Diff(c.want, got.PVs, cmp.Transformer("nil", func(in []PV) []PV { return slices.Clip(append([]PV{}, in...)) })); diff != "" {
				t.Error(diff)
			}
			if got.Added+got.Removed+got.Changed+got.Moved != len(c.want) || got.Unchanged != c.unchanged || got.Empty() != (len(c.want) == 0) {
				t.Errorf("the counts are %+v", got)
			}
		})
	}
}

// TestAPlanNamesRules checks that a plan says which rule applies to each PV.
func TestAPlanNamesRules(t *testing.T) {
	rules := func(s *v1alpha1.ArchiveGroupSpec) {
		s.Rules = []v1alpha1.Rule{{Match: "^NONE"}, {Match: "^A", Redundancy: new(int32(2))}}
	}
	before := groups(group("a", nil, "A", "B"))
	old := before.Compile(archive, nil, now)
	after := before.With(groups(group("a", rules, "A1", "C")), Options{Now: now})
	got := Compare(old, after.Compile(archive, &old, now), archive)
	after.NameRules(&got)
	want := []PV{
		{Name: "A", Action: Remove, Group: "ns/a"}, {Name: "A1", Action: Add, Group: "ns/a", Rule: "rules[1]"},
		{Name: "B", Action: Remove, Group: "ns/a"}, {Name: "C", Action: Add, Group: "ns/a"},
	}
	if diff := cmp.Diff(want, got.PVs); diff != "" {
		t.Error(diff)
	}
}

// TestLaterEvents checks that a plan shows what happens by itself later, because nothing changes now.
func TestLaterEvents(t *testing.T) {
	in := func(hours int) *metav1.Time { return new(metav1.NewTime(now.Add(time.Duration(hours) * time.Hour))) }
	before := groups(group("a", func(s *v1alpha1.ArchiveGroupSpec) {
		s.ExpiresAt = in(1)
		s.Pauses = []v1alpha1.PlannedPause{{From: in(-2), To: in(-1), Reason: "over"}, {From: in(1), To: in(2), Reason: "same"}}
	}, "A", "B"))
	after := groups(group("a", func(s *v1alpha1.ArchiveGroupSpec) {
		s.Pauses = []v1alpha1.PlannedPause{{From: in(1), To: in(2), Reason: "same"}, {From: in(2), To: in(3), Reason: "new", Match: "^A"}}
		s.Channels[1].ExpiresAt = in(4)
	}, "A", "B"))
	if got := compare(before, after, Options{}); !got.Empty() {
		t.Errorf("now, %v change", got.PVs)
	}
	want := []Later{
		{"ns/a", Add, "B expires at 2027-06-30T04:00:00Z"},
		{"ns/a", Add, "planned pause of the PVs that match ^A from 2027-06-30T02:00:00Z to 2027-06-30T03:00:00Z: new"},
		{"ns/a", Remove, "the group expires at 2027-06-30T01:00:00Z"},
	}
	if diff := cmp.Diff(want, CompareLater(before, after, now)); diff != "" {
		t.Error(diff)
	}
}

// TestNoSettingIsForgotten sets each field of the settings, and checks that a plan shows the difference.
func TestNoSettingIsForgotten(t *testing.T) {
	typ := reflect.TypeFor[capture.Settings]()
	for i := range typ.NumField() {
		var s capture.Settings
		switch f := reflect.ValueOf(&s).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("x")
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.Int64:
			f.SetInt(int64(time.Second))
		case reflect.Uint8:
			f.SetUint(1)
		default:
			s.Retention = store.Retention{Raw: store.Keep1y}
		}
		ch, other := capture.Channel{Settings: &capture.Settings{}}, capture.Channel{Settings: &s}
		if got := differences(place{&ch, 0}, place{&other, 0}, archive); len(got) != 1 || got[0].From == got[0].To {
			t.Errorf("the difference in %s is shown as %v", typ.Field(i).Name, got)
		}
	}
	levels := capture.Settings{Retention: store.Retention{Levels: [store.MaxLevels]store.Level{store.LevelOf(time.Hour, store.Keep1y)}}}
	ch, other := capture.Channel{Settings: &capture.Settings{}}, capture.Channel{Settings: &levels}
	want := []Setting{{"retention.rollups", "none", "1h for 1y"}}
	if diff := cmp.Diff(want, differences(place{&ch, 0}, place{&other, 0}, archive)); diff != "" {
		t.Error(diff)
	}
}

// TestAMissingSourceRemovesNothing checks that a plan says the same about a missing source as the archive does:
// captured PVs stay.
func TestAMissingSourceRemovesNothing(t *testing.T) {
	lists := func(s *v1alpha1.ArchiveGroupSpec) {
		s.ChannelsFrom = []v1alpha1.ChannelSource{{ConfigMap: &v1alpha1.ConfigMapSource{Name: "pvs"}}}
	}
	pvs := func(labels map[string]string, list string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pvs", Labels: labels}, Data: map[string]string{"list": list}}
	}
	before := State{Groups: []v1alpha1.ArchiveGroup{group("a", lists)}, ConfigMaps: []*corev1.ConfigMap{pvs(nil, "A\nB")}}
	got := compare(before, groups(group("a", lists)), Options{Prune: true})
	if got.Empty() || len(got.PVs) != 0 || got.Unchanged != 2 || len(got.NewProblems) != 1 || !strings.Contains(got.NewProblems[0].Message, `ConfigMap "pvs" is missing`) {
		t.Errorf("without the ConfigMap the plan is %+v", got)
	}
	got = compare(before, State{ConfigMaps: []*corev1.ConfigMap{pvs(nil, "A")}}, Options{})
	if diff := cmp.Diff([]PV{{Name: "B", Action: Remove, Group: "ns/a"}}, got.PVs); diff != "" {
		t.Error(diff)
	}
	before.NeedLabel, before.ConfigMaps = true, []*corev1.ConfigMap{pvs(map[string]string{v1alpha1.LabelChannels: "true"}, "A\nB")}
	got = compare(before, State{ConfigMaps: []*corev1.ConfigMap{pvs(nil, "A")}}, Options{})
	if len(got.PVs) != 0 || len(got.NewProblems) != 1 || !strings.Contains(got.NewProblems[0].Message, "has no label") {
		t.Errorf("with a ConfigMap without a label the plan is %+v", got)
	}
}

// TestANewGroupIsTheYoungest checks that a new group in a cluster does not decide about the PVs of older groups.
func TestANewGroupIsTheYoungest(t *testing.T) {
	old := group("old", nil, "A")
	old.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	before := groups(old)
	before.NeedLabel = true
	if got := compare(before, groups(group("new", nil, "A")), Options{}); !got.Empty() {
		t.Errorf("the plan is %+v", got.PVs)
	}
}

// TestAbsentNamesGroupsWhosePVsAreUnknown checks that a plan can say which PVs it does not know.
func TestAbsentNamesGroupsWhosePVsAreUnknown(t *testing.T) {
	lists := func(s *v1alpha1.ArchiveGroupSpec) {
		s.ChannelsFrom = []v1alpha1.ChannelSource{{ConfigMap: &v1alpha1.ConfigMapSource{Name: "pvs"}}}
	}
	s := groups(group("b", lists), group("a", lists), group("c", nil, "C"))
	if got := s.Absent(); !slices.Equal(got, []string{"ns/a", "ns/b"}) {
		t.Errorf("without the ConfigMap: %v", got)
	}
	s.ConfigMaps = []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pvs"}}}
	if got := s.Absent(); len(got) != 0 {
		t.Errorf("with the ConfigMap: %v", got)
	}
	if s.NeedLabel = true; len(s.Absent()) != 2 {
		t.Errorf("without its label: %v", s.Absent())
	}
}

// TestADeletionPolicyIsAChange checks that a plan is not empty if only the fate of data after a deletion changes.
func TestADeletionPolicyIsAChange(t *testing.T) {
	before, after := groups(group("a", nil, "A")), groups(group("a", func(s *v1alpha1.ArchiveGroupSpec) { s.DeletionPolicy = v1alpha1.DeleteData }, "A"))
	if got := CompareLater(before, before.With(after, Options{Now: now}), now); len(got) != 0 {
		t.Errorf("outside of a cluster, where it has no effect: %v", got)
	}
	before.NeedLabel = true
	want := []Later{{"ns/a", Add, "if somebody deletes the group, its data is deleted, too"}}
	if diff := cmp.Diff(want, CompareLater(before, before.With(after, Options{Now: now}), now)); diff != "" {
		t.Error(diff)
	}
}
