package sources

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: name}, Data: map[string]string{}}
	for i, text := range data {
		cm.Data[fmt.Sprint("key", i)] = text
	}
	return cm
}

func TestParseOfConfigMaps(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, tc := range []struct {
		name     string
		data     []string
		names    []string
		problems []string
	}{
		{"lines", []string{"SR:A\nSR:B\n\nSR:C"}, []string{"SR:A", "SR:B", "SR:C"}, nil},
		{"Windows", []string{"\ufeffSR:A\r\nSR:B\r\n\r\n"}, []string{"SR:A", "SR:B"}, nil},
		{"space around", []string{"  SR:A\t\n \n"}, []string{"SR:A"}, nil},
		{"comments", []string{"# all\nSR:A # the first\n #none\nSR:B\t#x\nSR#C\n#\n"}, []string{"SR:A", "SR:B", "SR#C"}, nil},
		{"keys", []string{"SR:B", "SR:A"}, []string{"SR:B", "SR:A"}, nil},
		{"twice", []string{"SR:A\nSR:A.VAL\nca://SR:A"}, []string{"SR:A", "SR:A.VAL", "ca://SR:A"}, nil},
		{
			"wrong names", []string{"SR:A", "SR:B\n\nSR A\n" + long + "\n.VAL\npva://SR:IMG\nSR:C"},
			[]string{"SR:A", "SR:B", "pva://SR:IMG", "SR:C"},
			[]string{
				`ConfigMap "pvs", key "key1", line 3: "SR A" contains a space`,
				`ConfigMap "pvs", key "key1", line 4: "` + long[:80] + `"… cannot be archived: the name has 257 bytes, more than 256`,
				`ConfigMap "pvs", key "key1", line 5: ".VAL" cannot be archived: the name is empty`,
			},
		},
	} {
		got := Parse(configMap("pvs", tc.data...))
		if diff := cmp.Diff(tc.names, got.Names); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.problems, messages(got)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func messages(l compile.Listed) (out []string) {
	for _, p := range l.Problems {
		out = append(out, p.Message)
	}
	return out
}

func TestBinaryDataIsIgnored(t *testing.T) {
	cm := configMap("pvs", "SR:A")
	cm.BinaryData = map[string][]byte{"pvs.gz": {0x1f, 0x8b}}
	got := Parse(cm)
	if want := []string{`ConfigMap "pvs", key "pvs.gz": binary data is ignored; use text with one name per line`}; !cmp.Equal(messages(got), want) {
		t.Error(messages(got))
	}
	if !cmp.Equal(got.Names, []string{"SR:A"}) {
		t.Errorf("names: %q", got.Names)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	got := Parse(configMap("pvs", strings.Repeat("SR A\n", 50_000)))
	if len(got.Problems)+got.MoreProblems != 50_000 || len(got.Problems) > 1000 {
		t.Errorf("%d problems and %d more", len(got.Problems), got.MoreProblems)
	}
}

// group returns a group with all kinds of sources.
func group() *v1alpha1.ArchiveGroup {
	return &v1alpha1.ArchiveGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "va"},
		Spec: v1alpha1.ArchiveGroupSpec{ChannelsFrom: []v1alpha1.ChannelSource{
			{ConfigMap: &v1alpha1.ConfigMapSource{Name: "one"}},
			{ConfigMap: &v1alpha1.ConfigMapSource{Name: "two"}},
			{ChannelFinder: &v1alpha1.ChannelFinderSource{URL: "http://cf", Query: "~tag=archive"}},
		}},
	}
}

func TestListKeepsChannelsOfMissingSources(t *testing.T) {
	type answer struct {
		names []string
		known bool
		err   error
	}
	down := errors.New("querying ChannelFinder http://cf: connection refused")
	both := map[string]*corev1.ConfigMap{"one": configMap("one", "SR:A"), "two": configMap("two", "SR:B")}
	for _, tc := range []struct {
		name     string
		maps     map[string]*corev1.ConfigMap
		finder   answer
		names    []string
		known    bool
		problems []string
	}{
		{"all sources are found", both, answer{[]string{"SR:C"}, true, nil}, []string{"SR:A", "SR:B", "SR:C"}, true, nil},
		{
			"a ConfigMap is missing", map[string]*corev1.ConfigMap{"two": both["two"]}, answer{[]string{"SR:C"}, true, nil},
			[]string{"SR:B", "SR:C", "pva://SR:HELD"}, true,
			[]string{`ConfigMap "one" is missing; captured channels stay captured until it exists or channelsFrom no longer names it`},
		},
		{
			"a ConfigMap without the label", map[string]*corev1.ConfigMap{"one": nil, "two": both["two"]}, answer{nil, true, nil},
			[]string{"SR:B", "pva://SR:HELD"}, true,
			[]string{`ConfigMap "one" has no label varve.dev/channels, so it is not read; to label it, run: kubectl label configmap --namespace ops one varve.dev/channels=true`},
		},
		{
			"ChannelFinder fails after an answer", both, answer{[]string{"SR:C"}, true, down}, []string{"SR:A", "SR:B", "SR:C"}, true,
			[]string{"querying ChannelFinder http://cf: connection refused; the last answer stays in use"},
		},
		{
			"ChannelFinder has never answered", both, answer{nil, false, down}, []string{"SR:A", "SR:B", "pva://SR:HELD"}, false,
			[]string{"querying ChannelFinder http://cf: connection refused; captured channels stay captured until it answers"},
		},
		{"ChannelFinder has not been queried yet", both, answer{nil, false, nil}, []string{"SR:A", "SR:B", "pva://SR:HELD"}, false, nil},
		{
			"ChannelFinder returns an invalid name", both, answer{[]string{"SR C", "SR:D"}, true, nil}, []string{"SR:A", "SR:B", "SR:D"}, true,
			[]string{`ChannelFinder http://cf: "SR C" contains a space`},
		},
	} {
		got, known := List(group(), Lookup{
			ConfigMap: func(namespace, name string) (*corev1.ConfigMap, State) {
				cm, exists := tc.maps[name]
				switch {
				case !exists || namespace != "ops":
					return nil, Missing
				case cm == nil:
					return nil, Unlabelled
				}
				return cm, Found
			},
			ChannelFinder: func(string, string) ([]string, bool, error) { return tc.finder.names, tc.finder.known, tc.finder.err },
			Held: func(group string) []string {
				return map[string][]string{"ops/va": {"pva://SR:HELD", "pva://SR:B"}}[group]
			},
		})
		if diff := cmp.Diff(tc.names, got.Names); diff != "" || known != tc.known {
			t.Errorf("%s: known %v, %s", tc.name, known, diff)
		}
		if diff := cmp.Diff(tc.problems, messages(got)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
