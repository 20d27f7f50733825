package compile

// Listed is what the sources outside of a group (channelsFrom) came to.
type Listed struct {
	// Names of PVs as they are written there. Names that are there twice, or in
	// the group too, do no harm; where two of one PV have different providers,
	// the first counts.
	Names []string
	// Problems of the sources; MoreProblems is the number of those left out.
	Problems     []Problem
	MoreProblems int
}

// Tell adds a problem.
func (l *Listed) Tell(pv, message string) {
	if len(l.Problems) >= MaxTold {
		l.MoreProblems++
		return
	}
	l.Problems = append(l.Problems, Problem{PV: pv, Message: message})
}

// Add adds what another source came to.
func (l *Listed) Add(other Listed) {
	l.Names = append(l.Names, other.Names...)
	for _, p := range other.Problems {
		l.Tell(p.PV, p.Message)
	}
	l.MoreProblems += other.MoreProblems
}
