package seal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

// errSuperseded means that another engine seals the shard from now on.
var errSuperseded = tiling.ErrSuperseded

// checkLeader returns errSuperseded if another engine leads. Only a leader can be superseded.
func (s *Shard) checkLeader(claims []store.Claim) error {
	if s.term < store.FirstTerm {
		return nil
	}
	for _, c := range claims {
		if c.Writer != s.shardJournal.Writer() && !c.Closed && supersedes(&c, s.term, s.shardJournal.Writer()) {
			s.superseded.Store(true)
			return fmt.Errorf("%w: writer %v, in term %d", errSuperseded, c.Writer, c.Sealing)
		}
	}
	return nil
}

// supersedes reports whether the writer of claim c leads instead of writer w with the given
// term.
func supersedes(c *store.Claim, term store.Term, w store.WriterID) bool {
	return c.Sealing > term || c.Sealing == term && string(c.Writer[:]) > string(w[:])
}

const (
	// claimsAge is how old the claims may be, at most, when tiles are written.
	claimsAge = 2 * time.Second
	// claimsReads is how often checkClaims reads the claims, at most, until a read is fast enough.
	claimsReads = 3
)

// errSlowClaims means that it is not known whether another engine leads.
var errSlowClaims = fmt.Errorf("each read of the claims took %v or longer", claimsAge)

// claimsCheck knows when the claims were last read and showed no other leader. Any goroutine may use it.
type claimsCheck struct {
	mu   sync.Mutex
	at   time.Time // when that read began
	slow time.Time // when the reads were last too slow
}

func (c *claimsCheck) note(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// checkClaims returns errSuperseded if the claims show that another engine leads. It reads them again if the
// last read began claimsAge ago, also if that read itself took so long: another engine may have become the
// leader meanwhile. If no read is fast enough, it returns an error, and so do the calls in the next
// claimsAge, because there may be thousands of them. An engine that does not lead need not check: the
// leader knows from its claim that it assists.
func (s *Shard) checkClaims(ctx context.Context) error {
	if s.term < store.FirstTerm {
		return nil
	}
	s.checked.mu.Lock()
	defer s.checked.mu.Unlock()
	if s.superseded.Load() {
		return errSuperseded
	}
	if time.Since(s.checked.at) < claimsAge {
		return nil
	}
	if err := s.readClaimsAgain(ctx); err != nil {
		return fmt.Errorf("checking whether another engine leads: %w", err)
	}
	return nil
}

// readClaimsAgain reads the claims until a read is fast enough. The caller has locked s.checked.
func (s *Shard) readClaimsAgain(ctx context.Context) error {
	if time.Since(s.checked.slow) < claimsAge {
		return errSlowClaims
	}
	for range claimsReads {
		begun := time.Now()
		claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
		if err != nil {
			return err
		}
		if err := s.checkLeader(claims); err != nil {
			return err
		}
		if s.checked.at = begun; time.Since(begun) < claimsAge {
			return nil
		}
	}
	s.checked.slow = time.Now()
	return errSlowClaims
}
