package validate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/groups/manifest/manifesttest"
)

var now = time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)

// check checks texts, and returns the findings as a compiler prints them.
func check(o Options, texts ...string) (*Report, []string) {
	var files []File
	for i, text := range texts {
		files = append(files, File{Name: fmt.Sprintf("%c.yaml", 'a'+i), Text: []byte(text)})
	}
	o.Now = now
	r := Check(files, o)
	var out []string
	for _, f := range r.Findings {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s:%d:%d: %s by %s: %s %s: %s %s", f.File, f.Line, f.Column, f.Severity, f.By, f.Kind, f.Object, f.PV, f.Message)))
	}
	return r, out
}

func group(name, spec string) string {
	return "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: " + name + ", namespace: ops}\nspec:\n  archiverRef: {name: main}\n" + spec
}

const archiver = "apiVersion: varve.dev/v1alpha1\nkind: Archiver\nmetadata: {name: main, namespace: ops}\nspec:\n  storage: {embedded: {}}\n"

// matches compares findings with the beginnings of the expected ones.
func matches(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			return
		}
	}
}

// TestEachManifestIsJudged checks that every finding of an API server is found, for every rule of the CRDs.
func TestEachManifestIsJudged(t *testing.T) {
	for _, c := range manifesttest.All() {
		r, _ := check(Options{Strict: true}, c.Manifest)
		by := ""
		for _, f := range r.Findings {
			if f.Severity == SeverityError && by != ByAPIServer && by != ByFile {
				by = f.By
			}
		}
		switch {
		case c.Want == "" && r.Objects[0].Result != Valid, c.Want == "" && (by == ByAPIServer || by == ByFile):
			t.Errorf("a valid manifest is refused: %s\n%v", c.Manifest, r.Findings)
		case c.ByOperator && by != ByOperator, c.Want != "" && !c.ByOperator && by != ByAPIServer && by != ByFile:
			t.Errorf("wrong findings (%q) of %s\n%v\nwant: %s", by, c.Manifest, r.Findings, c.Want)
		}
	}
}

func TestPlacesOfFindings(t *testing.T) {
	_, got := check(Options{},
		group("bad", "  channels:\n  - name: A\n    sampling: {mode: Scan}\n  - {name: B, properties: [desc], paused: 1}\n")+
			"---\n"+group("unknown", "  chanels: []\n")+
			"---\na: [\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: varve.dev/v1alpha1\n  kind: ArchiveGroup\n  metadata: {name: listed, namespace: ops}\n  spec:\n    archiverRef: {name: main}\n    redundancy: 3\n- 7\n",
		`{"apiVersion": "varve.dev/v1alpha1", "kind": "ArchivePolicy", "metadata": {"name": "p"}, "spec": {"archiverRef": {"name": "main"},
  "prefixes": ["SR:", "SR:*"], "owners": {"groups": ["a"]}}}`)
	matches(t, got, []string{
		`a.yaml:9:28: error by api-server: ArchiveGroup ops/bad:  spec.channels[1].properties[0]: Invalid value: "desc"`,
		`a.yaml:9:35: error by api-server: ArchiveGroup ops/bad:  spec.channels[1].paused: Invalid value: 1: must be of type boolean; write true or false`,
		`a.yaml:16:3: error by api-server: ArchiveGroup ops/unknown:  unknown field "spec.chanels"; the fields of spec are archiverRef, `,
		`a.yaml:18:0: error by file:  :  yaml: did not find expected node content`,
		`b.yaml:9:5: error by api-server: ArchiveGroup ops/listed:  spec.redundancy: Invalid value: 3: spec.redundancy in body should be less than or equal to 2`,
		`b.yaml:10:3: error by file:  :  items[1] is no object`,
		`c.yaml:2:23: error by api-server: ArchivePolicy default/p:  spec.prefixes[1]: Invalid value: "SR:*": a prefix has no wildcards`,
	})
}

func TestOtherKinds(t *testing.T) {
	const others = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n---\napiVersion: example.org/v1\nkind: Archiver\nmetadata: {name: x}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {text: 'SR:* is a pattern'}\n"
	r, got := check(Options{}, others)
	matches(t, got, []string{"a.yaml:5:1: warning by file: Archiver x:  apiVersion is example.org/v1, so this is no Archiver of Varve"})
	if r.CountObjects(Skipped) != 2 || r.CountObjects(Valid) != 1 {
		t.Errorf("objects: %+v", r.Objects)
	}
	_, got = check(Options{Strict: true}, others)
	matches(t, got, []string{
		"a.yaml:1:1: error by file: Deployment d:  kind Deployment of apps/v1 is not Varve's: it cannot be checked",
		"a.yaml:5:1: error by file: Archiver x:  kind Archiver of example.org/v1 is not Varve's",
	})
	_, got = check(Options{}, "apiVersion: varve.dev/v1\nkind: ArchiveGroup\n---\napiVersion: varve.dev/v1alpha1\nkind: ArchivGroup\n---\nkind: ArchiveGroup\n")
	matches(t, got, []string{
		"a.yaml:1:1: error by file: ArchiveGroup :  apiVersion varve.dev/v1 does not exist: write varve.dev/v1alpha1",
		"a.yaml:4:1: error by file: ArchivGroup :  varve.dev has no kind ArchivGroup; its kinds are ArchiveBackup, ArchiveBackupSchedule, ArchiveGroup, ",
		`a.yaml:7:1: error by file: ArchiveGroup :  apiVersion is missing and kind is "ArchiveGroup": an object needs both`,
	})
	r, got = check(Options{}, "replicas: 3\n")
	if matches(t, got, nil); r.CountObjects(Skipped) != 1 {
		t.Errorf("values of a chart are not skipped: %+v", r.Objects)
	}
	_, got = check(Options{Strict: true}, "replicas: 3\n")
	matches(t, got, []string{"a.yaml:1:1: error by file:  :  the document has no apiVersion and no kind: it cannot be checked"})
}

// TestFindingsOfTheOperator checks what only shows when the objects of an archive are seen together.
func TestFindingsOfTheOperator(t *testing.T) {
	r, got := check(Options{}, archiver,
		group("old", "  channels: [{name: 'SR:A'}, {name: 'SR:A.VAL'}, {name: 'SR:*'}]\n  rules:\n  - {match: ^SR, paused: true}\n  - {match: ^BR, paused: true}\n"),
		group("young", "  channelsFrom:\n  - configMap: {name: pvs}\n  - configMap: {name: elsewhere}\n  - channelFinder: {url: 'http://cf', query: '~tag=a'}\n  rules: [{match: ^BR, paused: true}]\n"),
		group("empty", "  channels: []\n"),
		group("astray", "  channels: [{name: 'X'}]\n")+"\n---\n"+strings.ReplaceAll(group("lost", "  channels: [{name: 'X'}]\n"), "main", "mian"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: pvs\n  namespace: ops\ndata:\n  list: |\n    SR:A\n    B C\n",
		group("old", ""),
		"apiVersion: varve.dev/v1alpha1\nkind: ArchivePolicy\nmetadata: {name: x, namespace: ops}\nspec: {archiverRef: {name: main}, prefixes: ['X'], owners: {archiveGroups: [old], groups: [a]}}\n",
	)
	matches(t, got, []string{
		`b.yaml:6:31: error by operator: ArchiveGroup ops/old: SR:A "SR:A" and "SR:A.VAL" are the same PV; the first entry is used`,
		`b.yaml:6:31: warning by operator: ArchiveGroup ops/old: SR:A the PV is in several groups: ops/old, ops/young; the settings that keep more are used`,
		`b.yaml:6:51: warning by operator: ArchiveGroup ops/old:  channel "SR:*" is not a pattern`,
		`b.yaml:9:5: warning by operator: ArchiveGroup ops/old:  spec.rules[1] applies to no PV`,
		`c.yaml:1:1: error by operator: ArchiveGroup ops/young:  ConfigMap "pvs", key "list", line 2: "B C" contains a space`,
		`c.yaml:1:1: warning by operator: ArchiveGroup ops/young: SR:A the PV is in several groups: ops/old, ops/young`,
		`d.yaml:4:1: warning by operator: ArchiveGroup ops/empty:  the group has no channels`,
		`e.yaml:6:15: error by operator: ArchiveGroup ops/astray: X ArchivePolicy x does not let this group archive it`,
		`e.yaml:13:17: warning by operator: ArchiveGroup ops/lost:  the files have no Archiver "mian" in namespace ops, only main`,
		`f.yaml:3:1: warning by operator: ConfigMap ops/pvs:  ArchiveGroup ops/young takes PVs from the ConfigMap, which has no label varve.dev/channels`,
		`g.yaml:1:1: error by file: ArchiveGroup ops/old:  the same object is also in b.yaml:1: only one of the two would stay`,
		`h.yaml:4:1: warning by operator: ArchivePolicy ops/x:  nobody can read these PVs`,
		`h.yaml:4:1: warning by operator: ArchivePolicy ops/x:  it refuses channels of the ArchiveGroups ops/astray (1 channels)`,
	})
	wantNotes := []string{
		"Archiver: 11 rules about changes of an existing object are not checked",
		`ArchiveGroup ops/young: ConfigMap "elsewhere" is not in the files, so the PVs of spec.channelsFrom[1] are not checked`,
		"ArchiveGroup ops/young: ChannelFinder is not queried, so the PVs of spec.channelsFrom[2] are not checked", "PVs in several groups",
	}
	matches(t, r.Notes, wantNotes)
}
