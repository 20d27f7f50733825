package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSamplesAreValid checks that the samples are valid, because new users copy them and `make
// demo` archives them.
func TestSamplesAreValid(t *testing.T) {
	r := Load("../../config/samples")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	channels := 0
	for _, g := range r.Groups {
		channels += len(g.Spec.Channels)
	}
	if len(r.Groups) != 4 || channels != 105 {
		t.Errorf("%d groups with %d channels", len(r.Groups), channels)
	}
}

var yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```")

// TestGroupsInDocsAreValid checks that each ArchiveGroup on a page of the documentation is valid,
// because users copy them, too.
func TestGroupsInDocsAreValid(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/clients/*.md")
	if err != nil {
		t.Fatal(err)
	}
	groups := 0
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(block[1], "kind: ArchiveGroup\n") || strings.Contains(block[1], "kind: Archiver\n") {
				continue
			}
			file := filepath.Join(t.TempDir(), fmt.Sprintf("%s-%d.yaml", filepath.Base(page), i))
			if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			r := Load(file)
			if err := r.Err(); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			groups += len(r.Groups)
		}
	}
	if groups < 10 {
		t.Errorf("the pages have only %d groups", groups)
	}
}
