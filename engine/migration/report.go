package migration

import (
	"fmt"
	"time"

	"varve.dev/varve/engine/sample"
)

// maxProblems bounds how many problems of a PV a report has. All of them are counted.
const maxProblems = 100

// Report says what became of the samples of a PV.
type Report struct {
	PV string `json:"pv"`
	// Read is the number of samples that were read. Each is counted once more: it is stored, was in the
	// archive before, is older than the retention of the PV (Expired), is before the archive's deletion
	// cutoff (Deleted), or is outside of the times to import (Outside).
	Read    uint64 `json:"read"`
	Stored  uint64 `json:"stored"`
	Present uint64 `json:"present"`
	Expired uint64 `json:"expired"`
	Deleted uint64 `json:"deleted,omitempty"`
	Outside uint64 `json:"outside,omitempty"`
	// Damaged is the number of lines, rows and files that could not be read, and Problems names the first
	// of them.
	Damaged  uint64    `json:"damaged"`
	Problems []Problem `json:"problems,omitempty"`
	// Notes are what users should know although all samples were read.
	Notes []string `json:"notes,omitempty"`
	// First and Last are the times of the first and the last sample that was read.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Months are the results of a verification.
	Months []Month `json:"months,omitempty"`
	// Error says why the import of the PV ended early.
	Error string `json:"error,omitempty"`
}

// Problem is what was not read: a line, a row, or the rest of a file.
type Problem struct {
	// File is the file, or the table.
	File string `json:"file"`
	// Offset is the position in the file, in bytes. It is 0 for a table.
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// String returns a line for users.
func (p Problem) String() string {
	if p.Offset == 0 {
		return p.File + ": " + p.Reason
	}
	return fmt.Sprintf("%s: byte %d: %s", p.File, p.Offset, p.Reason)
}

func (r *Report) problem(file string, offset int64, err error) {
	if r.Damaged++; len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{file, offset, err.Error()})
	}
}

// count counts the samples of a run, which is sorted.
func (r *Report) count(run *sample.Run) {
	n := run.Len()
	r.Read += uint64(n)
	if first := time.Unix(0, run.Times[0]).UTC(); r.First.IsZero() || first.Before(r.First) {
		r.First = first
	}
	if last := time.Unix(0, run.Times[n-1]).UTC(); last.After(r.Last) {
		r.Last = last
	}
}
