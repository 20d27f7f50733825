package summary

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/manifest"
)

const head = "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: vacuum, namespace: lab}\nspec:\n  archiverRef: {name: main}\n"

// TestSettingsHaveDefaults checks the texts about the settings of groups.
func TestSettingsHaveDefaults(t *testing.T) {
	for spec, want := range map[string]overview.Settings{
		"": {Provider: "default", Sampling: "every update", Retention: "raw samples are kept forever", Redundancy: 1, ShardBy: "PVs are distributed one by one", OnDelete: "data stays"},
		"  provider: PVA\n  sampling: {mode: Scan, period: 10s, clockLimit: {ahead: 1m, onExceeded: Refuse}}\n  retention: {raw: 20d}\n  redundancy: 2\n  shardBy: {group: {}}\n" +
			"  deletionPolicy: Delete\n  paused: true\n  channels: [{name: A}, {name: B, paused: false}]\n  channelsFrom: [{configMap: {name: names}}]\n": {
			Provider: "PVA", Sampling: "the value at each multiple of 10s; clock of the IOC at most 1m ahead and 1d behind, otherwise refuse",
			Retention: "raw samples are kept for 30d (requested: 20d)", Redundancy: 2, ShardBy: "all PVs are on one engine", Paused: true,
			OnDelete: "data of PVs that no other group archives is deleted", Channels: 2, Own: 1, Sources: []string{"ConfigMap names"},
		},
		"  sampling: {deadband: {absolute: 0.5, relative: 0.01}, maxRate: 0.2, events: [Value, Alarm], clock: Engine}\n": {
			Provider: "default", Sampling: "every update; deadband 0.5; deadband 1 %; at most 0.2 samples/s; events Alarm, Value; time stamps of the engine",
			Retention: "raw samples are kept forever", Redundancy: 1, ShardBy: "PVs are distributed one by one", OnDelete: "data stays",
		},
	} {
		r := manifest.Parse("x", []byte(head+spec))
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		g := Of(&r.Groups[0], "", nil)
		got := g.Settings
		if sources := strings.Join(got.Sources, ";"); sources != strings.Join(want.Sources, ";") {
			t.Errorf("the sources are %s", sources)
		}
		got.Sources, want.Sources = nil, nil
		if !equal(&got, &want) {
			t.Errorf("the settings are\n%+v\nwant\n%+v", got, want)
		}
		if again := manifest.Parse("x", []byte(g.Manifest)); again.Err() != nil || Of(&again.Groups[0], "", nil).Manifest != g.Manifest {
			t.Errorf("the manifest does not describe the same group: %v\n%s", again.Err(), g.Manifest)
		}
	}
}

func equal(a, b *overview.Settings) bool {
	return a.Provider == b.Provider && a.Sampling == b.Sampling && a.Retention == b.Retention && a.Redundancy == b.Redundancy && a.ShardBy == b.ShardBy &&
		a.Paused == b.Paused && a.OnDelete == b.OnDelete && a.Channels == b.Channels && a.Own == b.Own
}

// TestCheckRefusesWhatGrows checks that a text of 1 MiB cannot take much more memory: neither one whose
// aliases repeat a large value, nor one with very many documents.
func TestCheckRefusesWhatGrows(t *testing.T) {
	for text, want := range map[string]string{
		head + "  x: [&a " + strings.Repeat("b", 500_000) + strings.Repeat(", *a", 100_000) + "]\n": "line 6: aliases such as *a are not accepted here",
		strings.Repeat("---\na\n", 150_000): "the text has 150000 lines that begin with ---",
	} {
		if got := Check([]byte(text), ""); len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Error, want) {
			t.Errorf("%.200q: %.300v, want %s", text, got.Errors, want)
		}
	}
	if got := Check([]byte("---\n"+head), ""); len(got.Errors) != 0 {
		t.Errorf("a text that begins with --- has the errors %v", got.Errors)
	}
}

// TestCheckNamesTheField checks that errors name the field and the line, and say what would be right.
func TestCheckNamesTheField(t *testing.T) {
	for spec, want := range map[string]overview.Finding{
		"  sampling: {mode: Scan}\n":               {Field: "spec.sampling.period", Line: 6, Error: "period is required for mode Scan"},
		"  retention: {raw: 3 months}\n":           {Field: "spec.retention.raw", Line: 6, Error: "months differ in length: write 90d"},
		"  chanels: []\n":                          {Field: "spec.chanels", Line: 6, Error: "unknown field"},
		"  channels: [{name: A}, {name: A.VAL}]\n": {Field: "spec.channels[1].name", Line: 6, Error: "the same PV as"},
		"  redundancy: 3\n":                        {Field: "spec.redundancy", Line: 6, Error: "less than or equal to 2"},
		"  x: [\n":                                 {Error: ""},
	} {
		c := Check([]byte(head+spec), "")
		if len(c.Errors) != 1 || c.Group != nil {
			t.Errorf("%s: the errors are %+v", spec, c.Errors)
			continue
		}
		e := c.Errors[0]
		if want.Error != "" && (e.Field != want.Field || e.Line != want.Line) || !strings.Contains(e.Error, want.Error) {
			t.Errorf("%s: the error is %+v, want %+v", spec, e, want)
		}
	}
	for text, want := range map[string]string{
		"":                          "0 objects",
		head + "---\n" + head:       "already has a group of this name",
		"kind: Pod":                 "files may contain only",
		"- a\n- b\n":                "instead of an object",
		strings.Repeat("[", 20_000): "",
		"kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}": "1 objects, and must have one ArchiveGroup",
	} {
		if c := Check([]byte(text), ""); len(c.Errors) == 0 || !strings.Contains(c.Errors[0].Error, want) {
			t.Errorf("%.30q: the errors are %+v, want %q", text, c.Errors, want)
		}
	}
	ok := Check([]byte(head+"  channels: [{name: \"SR*\"}]\n"), "")
	if len(ok.Errors) > 0 || ok.Group == nil || len(ok.Warnings) != 1 || !strings.Contains(ok.Warnings[0], "is not a pattern") {
		t.Errorf("a name like a pattern gets %+v", ok)
	}
	if !strings.HasPrefix(ok.Manifest, "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata:\n  name: vacuum\n  namespace: lab\nspec:\n") {
		t.Errorf("the manifest is\n%s", ok.Manifest)
	}
}

// TestAQuestionableGroupHasAProblem checks that the problems of a group have the condition Questionable.
func TestAQuestionableGroupHasAProblem(t *testing.T) {
	got := conditionProblems(&v1alpha1.ArchiveGroupStatus{Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionQuestionable, Status: metav1.ConditionTrue, Message: "1 channel name"},
	}})
	if len(got) != 1 || got[0].Severity != overview.SeverityWarning || got[0].Text != "1 channel name" || got[0].Advice == "" {
		t.Errorf("the problems are %+v", got)
	}
}

// TestCheckBoundsExpressions checks that the text of a reader cannot take long: neither by one costly expression, nor
// by many allowed ones and long names.
func TestCheckBoundsExpressions(t *testing.T) {
	manifest := func(match string, rules, pvs, length int) []byte {
		text := head + "  rules:\n" + strings.Repeat("  - {match: '"+match+"'}\n", rules) + "  channels:\n"
		for i := range pvs {
			text += fmt.Sprintf("  - {name: 'PV:%d:%s'}\n", i, strings.Repeat("A", length))
		}
		return []byte(text)
	}
	c := Check(manifest(strings.Repeat(".{0,1000}", 27)+"[!#]", 64, 10, 50), "")
	if len(c.Errors) != 64 || c.Errors[0].Field != "spec.rules[0].match" || !strings.Contains(c.Errors[0].Error, "match must not repeat") {
		t.Errorf("a costly expression gives %d errors: %.500v", len(c.Errors), c.Errors)
	}
	c = Check(manifest(".{0,99}.{0,99}[!#]", 1, 1, 1), "")
	if len(c.Errors) > 0 || !strings.Contains(strings.Join(c.Warnings, " "), "parsing rules[0].match: the expression has about 397 instructions when it is compiled, and may have at most 300") {
		t.Errorf("an expression that is a little too long: %v, %v", c.Errors, c.Warnings)
	}
	c = Check(manifest(strings.Repeat("A.*", 80)+"[!#]", 64, 100, 200), "")
	if len(c.Errors) > 0 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "did not apply the rules, pauses and deletions") {
		t.Errorf("many long expressions: %v, %v", c.Errors, c.Warnings)
	}
	if c = Check(manifest("^SR[0-9]{2}-.*:(TEMP|PRES)-[0-9]+$", 64, 1000, 20), ""); len(c.Errors) > 0 || strings.Contains(strings.Join(c.Warnings, " "), "did not apply") {
		t.Errorf("usual rules: %v, %v", c.Errors, c.Warnings)
	}
}
