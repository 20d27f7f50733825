package appliance

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// referencePage documents each call, with its status and the test that covers it.
const referencePage = "../../../docs/reference/appliance.md"

// TestPageListsEveryCall checks that the page has a row for each call of the table, with the same
// status, and that the tests it names exist.
func TestPageListsEveryCall(t *testing.T) {
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	documented, tests := map[string]string{}, testNames(t)
	for _, row := range regexp.MustCompile(`(?m)^\| (/\S+) \| (\w+) \|.*\| (\w+) \|$`).FindAllStringSubmatch(string(text), -1) {
		if documented[row[1]] != "" {
			t.Errorf("the page lists %s twice", row[1])
		}
		documented[row[1]] = row[2]
		if !slices.Contains(tests, row[3]) {
			t.Errorf("the test %s of %s does not exist", row[3], row[1])
		}
	}
	for i := range calls {
		c := &calls[i]
		if got := documented[c.path]; got != string(c.kind) {
			t.Errorf("the page says %q of %s, which is %s", got, c.path, c.kind)
		}
		delete(documented, c.path)
	}
	data := []string{
		"/retrieval/data/getDataForPVs.json", "/retrieval/data/getDataAtTime", "/retrieval/data/getDataAtTimeForAppliance", "/retrieval/ping",
	}
	for ext := range formats {
		data = append(data, "/retrieval/data/getData."+ext)
	}
	for _, path := range data {
		if got := documented[path]; got != string(reads) {
			t.Errorf("the page says %q of %s, which is %s", got, path, reads)
		}
		delete(documented, path)
	}
	if got := documented["/retrieval/data/getData.flx"]; got != string(unsupported) {
		t.Errorf("the page says %q of getData.flx", got)
	}
	delete(documented, "/retrieval/data/getData.flx")
	if len(documented) > 0 {
		t.Errorf("the page lists paths that are not calls: %v", documented)
	}
}

// migrationPage says for each call what to do instead.
const migrationPage = "../../../docs/clients/from-the-appliance.md"

// TestMigrationPageNamesCalls checks that the page for users of the Appliance says what replaces each call that would
// change something, and that it names no other calls.
func TestMigrationPageNamesCalls(t *testing.T) {
	text, err := os.ReadFile(migrationPage)
	if err != nil {
		t.Fatal(err)
	}
	named := func(from, to string, column int) (names []string) {
		_, part, _ := strings.Cut(string(text), from)
		part, _, found := strings.Cut(part, to)
		if !found {
			t.Fatalf("the page has no part from %q to %q", from, to)
		}
		for line := range strings.Lines(part) {
			if cells := strings.Split(line, "|"); len(cells) > column {
				names = append(names, regexp.MustCompile(`\b[a-z]+[A-Z]\w+`).FindAllString(cells[column], -1)...)
			}
		}
		return names
	}
	changing, reports := named("## Change calls become edits", "### Pause and resume", 1), named("## Reports", "Both answer from", 2)
	for i := range calls {
		name := path.Base(calls[i].path)
		if calls[i].changes() && !slices.Contains(changing, name) {
			t.Errorf("the page does not say what replaces %s", name)
		}
	}
	for kind, names := range map[bool][]string{true: changing, false: reports} {
		if len(names) < 20 {
			t.Errorf("the page names only %q", names)
		}
		for _, name := range names {
			if !slices.ContainsFunc(calls, func(c call) bool { return path.Base(c.path) == name && c.changes() == kind }) {
				t.Errorf("the page names %s, which is no such call", name)
			}
		}
	}
}

// changes reports whether a call would change something.
func (c *call) changes() bool { return c.kind == changes || c.kind == edits }

// testNames returns the names of the tests that may cover a call.
func testNames(t *testing.T) (names []string) {
	for _, pattern := range []string{"*_test.go", "../*_test.go", "../../../test/clients/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || files == nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// TestTableIsConsistent checks that each call is in the table once and has what its kind needs.
func TestTableIsConsistent(t *testing.T) {
	seen := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if seen[c.path] || (c.answer != nil) != (c.kind == reads || c.kind == edits) || (c.why != "") != (c.kind == unsupported) ||
			!slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.path, p) }) {
			t.Errorf("the call %s is wrong", fmt.Sprint(*c))
		}
		seen[c.path] = true
	}
}

// TestRankingIsBounded checks that a report with a limit holds only a few more entries.
func TestRankingIsBounded(t *testing.T) {
	top := ranking{limit: 2}
	for i := range 10_000 {
		top.add(float64(i%5000), fmt.Sprintf("PV:%05d", i), fields{})
		if len(top.entries) > 2*2+1024 {
			t.Fatalf("the report holds %d entries", len(top.entries))
		}
	}
	if top.cut(); len(top.entries) != 2 || top.entries[0].pv != "PV:04999" || top.entries[1].pv != "PV:09999" {
		t.Errorf("the first entries are %+v", top.entries)
	}
}
