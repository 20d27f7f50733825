package seal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/varve/engine/store"
)

// errSuperseded means that another engine seals the shard from now on.
var errSuperseded = errors.New("another engine leads the sealing of the shard")

// becomeLeader writes a term above all others to the claim. It returns false if ctx ended
// first.
func (s *Shard) becomeLeader(ctx context.Context) bool {
	return s.waitForClaim(ctx) && s.retry(ctx, "taking over the sealing", func() error { return s.claimTerm(ctx) }) == nil
}

// claimTerm writes the new term to the claim while it holds the shard's turn. A deletion may
// begin as soon as the claim has the term, and must find the term in this Shard too.
func (s *Shard) claimTerm(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return err
	}
	term := store.FirstTerm
	for _, c := range claims {
		term = max(term, c.Sealing+1)
	}
	if err := s.shardJournal.SetSealing(ctx, term); err != nil {
		return err
	}
	s.term = term
	return nil
}

// becomeFollower writes to the claim that the engine follows. It returns false if ctx ended
// first.
func (s *Shard) becomeFollower(ctx context.Context) bool {
	return s.waitForClaim(ctx) && s.retry(ctx, "following the leader", func() error { return s.shardJournal.SetSealing(ctx, store.Follows) }) == nil
}

// waitForClaim waits until the shard journal has claimed the shard. It returns false if ctx
// ended first.
func (s *Shard) waitForClaim(ctx context.Context) bool {
	select {
	case <-s.shardJournal.Claimed():
		return true
	case <-ctx.Done():
		return false
	}
}

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

// Follow releases the samples of the shard journal that another engine has sealed. It returns
// false when ctx ends. It returns true when the shard has no leader, and the caller should
// then lead. If memory is short, a follower seals its own samples, because duplicates on disk
// are better than losses.
func (s *Shard) Follow(ctx context.Context) (vacant bool) {
	if !s.becomeFollower(ctx) {
		return false
	}
	tick := time.NewTicker(min(followEvery, s.cfg.Every))
	defer tick.Stop()
	for !vacant {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		s.checkpoint(ctx, func(ctx context.Context) (err error) {
			vacant, err = s.follow(ctx)
			return err
		})
	}
	return true
}

func (s *Shard) follow(ctx context.Context) (vacant bool, err error) {
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return false, err
	}
	for _, c := range claims {
		if c.Writer == s.shardJournal.Writer() {
			s.shardJournal.GiveUp(c.Sealed)
		}
	}
	if s.isVacant(claims) {
		return true, nil
	}
	if !s.isShortOfMemory() {
		return false, nil
	}
	return false, s.assist(ctx)
}

// isVacant reports whether the leader is dead, or whether the shard has had no leader for
// Config.Silence. It waits that long because another engine may be about to lead.
func (s *Shard) isVacant(claims []store.Claim) bool {
	s.unwatchGone(claims)
	dead := false
	for _, c := range claims {
		if c.Writer == s.shardJournal.Writer() || c.Closed || c.Sealing < store.FirstTerm {
			continue
		}
		if !s.isSilent(c) {
			s.vacantSince = time.Time{}
			return false
		}
		dead = true
	}
	if s.vacantSince.IsZero() {
		s.vacantSince = time.Now()
	}
	return dead || time.Since(s.vacantSince) >= s.cfg.Silence
}

// assist seals the samples of the shard journal because memory is short. The first call only
// writes to the claim that the engine assists. The leader therefore knows before the next call
// that other engines write too.
func (s *Shard) assist(ctx context.Context) error {
	if s.term != store.Assists {
		err := s.shardJournal.SetSealing(ctx, store.Assists)
		if err == nil {
			s.term = store.Assists
		}
		return err
	}
	err := s.sealOwn(ctx)
	for pv := range s.series { // other engines change the directory meanwhile
		s.forget(pv)
	}
	return err
}
