package validate

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestBackupsInDocsAreValid checks the manifests about backups that users copy.
func TestBackupsInDocsAreValid(t *testing.T) {
	page, err := os.ReadFile("../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile("../../config/samples/kubernetes/backup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(sample)}
	for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		texts = append(texts, block[1])
	}
	report, findings := check(Options{Strict: true}, texts...)
	if len(findings) > 0 || report.CountObjects(Valid) != 3 {
		t.Errorf("%d valid objects\n%s", report.CountObjects(Valid), strings.Join(findings, "\n"))
	}
}
