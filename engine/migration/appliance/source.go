package appliance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/upstream"
)

// Options configure Open.
type Options struct {
	// Archive is the server.
	Archive *upstream.Appliance
	// Names are the PVs to import. If it is empty, they come from the server.
	Names []string
	// Want decides which PVs of the server to import. It gets their canonical names. It may be nil, for all.
	Want func(pv string) bool
	// Pause are the delays between tries. If it is zero, they are between 1 s and 30 s.
	Pause retry.Backoff
}

// Bounds of tries.
const (
	// tries is how often the reader sends a request to a server that does not answer.
	tries = 5
	// refusedTries is how often the reader sends a request whose answer it refuses.
	refusedTries = 2
	// maxRefused is the number of refused ranges in a row after which the reader does not request the rest of the PV.
	maxRefused = 3
	// maxSilent is the number of PVs in a row without an answer after which the reader requests no other PV.
	maxSilent = 3
)

// Source is an Archiver Appliance.
type Source struct {
	// Skipped are the names that are not imported.
	Skipped []migration.Skipped

	opts Options
	pvs  []string
	now  func() time.Time

	mu     sync.Mutex
	silent int // number of PVs in a row that got no answer
}

// Open checks that there is an archive at the address, and reads the names of its PVs.
func Open(ctx context.Context, opts Options) (*Source, error) {
	s := &Source{opts: opts, now: time.Now}
	if s.opts.Pause == (retry.Backoff{}) {
		s.opts.Pause = retry.Backoff{Min: time.Second, Max: 30 * time.Second}
	}
	if err := opts.Archive.Check(ctx); err != nil {
		return nil, err
	}
	if len(opts.Names) > 0 {
		for _, name := range opts.Names {
			s.add(name)
		}
	} else if err := opts.Archive.Names(ctx, s.add); err != nil {
		return nil, err
	}
	slices.Sort(s.pvs)
	s.pvs = slices.Compact(s.pvs)
	return s, nil
}

// add adds a PV if it is wanted.
func (s *Source) add(name string) {
	pv := pvname.Canonical(name)
	if err := pvname.Check(pv); err != nil {
		s.Skipped = append(s.Skipped, migration.Skipped{Path: fmt.Sprintf("%.100q", name), Reason: err.Error()})
		return
	}
	if s.opts.Want == nil || s.opts.Want(pv) {
		s.pvs = append(s.pvs, pv)
	}
}

// PVs implements migration.Source.
func (s *Source) PVs() []string { return s.pvs }

// errAway ends the import of PVs after others got no answer.
var errAway = fmt.Errorf("the server did not answer for %d PVs in a row, so this PV was not requested", maxSilent)

// Read implements migration.Source. A range whose answer is refused becomes a problem. It fails if the server does not
// answer.
func (s *Source) Read(ctx context.Context, pv string, since, until int64, to migration.Sink) error {
	if s.away() {
		return errAway
	}
	r := &reader{Source: s, pv: pv, to: to, seen: math.MinInt64}
	err := r.read(ctx, max(since, 0), until)
	s.note(ctx, err)
	return err
}

func (s *Source) away() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent >= maxSilent
}

// note counts the PVs in a row that got no answer.
func (s *Source) note(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.silent >= maxSilent || ctx.Err() != nil: // requests that were in flight then do not count
	case err == nil:
		s.silent = 0
	case errors.Is(err, errSilent):
		s.silent++
	}
}
