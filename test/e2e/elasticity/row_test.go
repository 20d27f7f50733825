package elasticity

import (
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/test/archive"
)

// row is the result of one fault.
type row struct {
	fault            string
	redundancy       int
	rate             float64 // samples/s that the spec read from the archive
	lost, duplicated int
	unmarked         int // number of lost samples that no mark explains
	gap              time.Duration
	recovery         time.Duration
	observed
}

const head = "| fault | redundancy | samples/s | lost | duplicated | gap s | recovery s | marked | reads | failed | wrong | slowest s |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|"

func (r row) String() string {
	marked := "–"
	if r.lost > 0 {
		marked = fmt.Sprintf("%d of %d", r.lost-r.unmarked, r.lost)
	}
	return fmt.Sprintf("| %s | %d | %.0f | %d | %d | %.1f | %.1f | %s | %d | %d | %d | %.1f |", r.fault, r.redundancy, r.rate, r.lost, r.duplicated,
		r.gap.Seconds(), r.recovery.Seconds(), marked, r.reads, r.failed, len(r.wrong), r.slowest.Seconds())
}

// rows are the results of this run.
var rows []row

// publish adds a row to the table and to the file in VARVE_REPORT.
func (r row) publish() {
	GinkgoHelper()
	rows = append(rows, r)
	AddReportEntry(r.String(), ReportEntryVisibilityAlways)
	path := os.Getenv("VARVE_REPORT")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	_, err = fmt.Fprintln(f, r)
	Expect(err).NotTo(HaveOccurred())
}

var _ = ReportAfterSuite("table", func(Report) {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	GinkgoWriter.Printf("\n%s\n%s\n", head, b.String())
})

// account computes a row from the samples of all PVs in a window. wrong describes the first
// problems in detail.
func (s *site) account(name string, from, to, struck time.Time, all map[string]archive.Tally) (r row, wrong []string) {
	GinkgoHelper()
	r = row{fault: name, redundancy: s.redundancy}
	samples := 0
	for _, pv := range s.pvs {
		t := all[pv]
		samples += t.Samples
		r.lost += t.Lost
		r.duplicated += t.Duplicated
		r.gap = max(r.gap, t.Longest-time.Second/perPV)
		if t.Samples == 0 || t.FirstTime.Sub(from) > time.Second || to.Sub(t.LastTime) > time.Second {
			wrong = append(wrong, fmt.Sprintf("%s has samples only in a part of the window from %s to %s: %v", pv, clock(from), clock(to), t))
		}
		if t.Lost+t.Duplicated > 0 && len(wrong) < 20 {
			wrong = append(wrong, fmt.Sprintf("%s: %v", pv, t))
		}
		if len(t.Holes) > 0 {
			marks, err := s.Marks(pv, from)
			Expect(err).NotTo(HaveOccurred())
			for _, h := range t.Holes {
				unmarked := len(h.Unmarked(marks))
				r.unmarked += unmarked
				r.recovery = max(r.recovery, time.Unix(0, h.Next.Time).Sub(struck))
				if unmarked > 0 && len(wrong) < 20 {
					wrong = append(wrong, fmt.Sprintf("%s: %d missing steps are in no mark; the marks are %+v", pv, unmarked, marks))
				}
			}
		}
	}
	r.rate = float64(samples) / to.Sub(from).Seconds()
	return r, wrong
}
