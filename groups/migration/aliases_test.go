package migration

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// importAliased imports n PVs with an alias each, and a few special ones, in a rotated order.
func importAliased(t *testing.T, n, rotate int) (*Source, []File) {
	t.Helper()
	var infos, aliases []string
	for i := range n {
		k := (i + rotate) % n
		infos = append(infos, fmt.Sprintf(`{"pvName":"SR:%d","samplingMethod":"MONITOR"}`, k))
		aliases = append(aliases, fmt.Sprintf(`{"aliasName":"AL:%d","srcPVName":"SR:%d.VAL"}`, k, k))
	}
	infos = append(infos, `{"pvName":"PLAIN","samplingMethod":"MONITOR"}`, `{"pvName":"BOTH","samplingMethod":"MONITOR"}`)
	aliases = append(aliases, `{"aliasName":"BOTH","srcPVName":"PLAIN"}`, `{"aliasName":"LOST","srcPVName":"NOWHERE"}`, `{"aliasName":"ZZ","srcPVName":"SR:0"}`)
	s, err := Appliance(strings.NewReader("[" + strings.Join(infos, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddAliases(strings.NewReader("[" + strings.Join(aliases, ",") + "]")); err != nil {
		t.Fatal(err)
	}
	opts := &Options{Archiver: "main"}
	groups, err := Plan(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(groups, s.Kind, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(files, s); err != nil {
		t.Fatal(err)
	}
	return s, files
}

// TestAliasesOfTheAppliance imports aliases, and makes sure that the order of the source changes nothing.
func TestAliasesOfTheAppliance(t *testing.T) {
	const n = 2500
	s, files := importAliased(t, n, 0)
	_, again := importAliased(t, n, 1234)
	if len(files) != len(again) {
		t.Fatalf("%d files, and %d when repeated", len(files), len(again))
	}
	found := 0
	for i, f := range files {
		if f.Name != again[i].Name || !bytes.Equal(f.Text, again[i].Text) {
			t.Errorf("%s differs when the import is repeated", f.Name)
		}
		found += bytes.Count(f.Text, []byte("aliases: ["))
		if strings.Contains(string(f.Text), `"SR:0"`) && !strings.Contains(string(f.Text), `{name: "SR:0", aliases: ["AL:0", "ZZ"]}`) {
			t.Errorf("the aliases of SR:0 are wrong in %s", f.Name)
		}
	}
	if found != n {
		t.Errorf("%d PVs have aliases, want %d", found, n)
	}
	var notes []string
	for _, note := range s.Notes {
		notes = append(notes, note.PV+" "+note.What)
	}
	if got := strings.Join(notes, ", "); got != "BOTH differs, LOST left out" {
		t.Errorf("notes are about %s", got)
	}
}

func TestWrongAliasesAreRefused(t *testing.T) {
	for _, text := range []string{"", "{}", "[{]", `[{"aliasName":1}]`, `[{"aliasName":"A","srcPVName":"B"}`} {
		if err := (&Source{}).AddAliases(strings.NewReader(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
