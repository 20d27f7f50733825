package compile

// Listed is the result of reading the external sources of a group (channelsFrom).
type Listed struct {
	// Names are PV names as written in the sources. Duplicates do no harm. If two names of a
	// PV have different providers, the first name decides.
	Names []string
	// Problems are the first problems of the sources. MoreProblems counts the rest.
	Problems     []Problem
	MoreProblems int
	// Incomplete means that a source has no content, so names may be missing.
	Incomplete bool
}

// AddProblem adds a problem.
func (l *Listed) AddProblem(pv, message string) {
	if len(l.Problems) >= MaxReported {
		l.MoreProblems++
		return
	}
	l.Problems = append(l.Problems, Problem{PV: pv, Message: message})
}

// Add adds the result of another source.
func (l *Listed) Add(other Listed) {
	l.Names = append(l.Names, other.Names...)
	for _, p := range other.Problems {
		l.AddProblem(p.PV, p.Message)
	}
	l.MoreProblems += other.MoreProblems
}
