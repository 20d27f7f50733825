package seal

import (
	"context"
	"errors"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

// becomeLeader writes a term above all others to the claim, and waits for the former leader. It returns false
// if ctx ended before the claim had the term.
func (s *Shard) becomeLeader(ctx context.Context) bool {
	return s.waitForClaim(ctx) && s.retry(ctx, "taking over the sealing", func() error { return s.claimTerm(ctx) }) == nil
}

// claimTerm writes the new term to the claim and waits for the former leader, while it holds the shard's
// turn. No other work may get the turn in between: the former leader may still write tiles, and it does not
// know writers that came later. The rows of these writers must not be sealed yet.
func (s *Shard) claimTerm(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.writeTerm(ctx); err != nil {
		return err
	}
	s.waitForFormer(ctx)
	close(s.leads)
	return nil
}

// claimWait is how long one try to write a term to the claim may take. Deletions that free space on a full
// disk wait for the turn meanwhile.
const claimWait = 10 * time.Second

// writeTerm writes a term above all others to the claim. Afterwards s has this term, even if writeTerm fails,
// because the claim may have it then.
func (s *Shard) writeTerm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return err
	}
	term := max(store.FirstTerm, s.term)
	for _, c := range claims {
		term = max(term, c.Sealing+1)
	}
	s.term = term
	return s.shardJournal.SetSealing(ctx, term)
}

// leadWait is how long a deletion waits until the engine leads, at most.
const leadWait = claimWait + formerWait

// errClaiming means that the engine does not lead yet.
var errClaiming = errors.New("the engine is still taking over the sealing of the shard; try again in some seconds")

// waitToLead waits until the engine leads, for at most leadWait.
func (s *Shard) waitToLead(ctx context.Context) error {
	late := time.NewTimer(leadWait)
	defer late.Stop()
	select {
	case <-s.leads:
		return nil
	case <-late.C:
		return errClaiming
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	// formerWait is how long a new leader waits for the former one to end its pass, at most.
	formerWait = 10 * time.Second
	// formerEvery is the time between two reads of the claims meanwhile.
	formerEvery = 500 * time.Millisecond
)

// waitForFormer waits until no other engine may still work as the leader, or until formerWait is over. The
// caller holds the shard's turn. A former leader in the middle of a pass does not know writers that came
// later. If this engine sealed their rows at once, the former leader could still write bins without their
// samples. After formerWait it no longer can: see checkClaims.
func (s *Shard) waitForFormer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, formerWait)
	defer cancel()
	tick := time.NewTicker(formerEvery)
	defer tick.Stop()
	for {
		claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
		if err == nil && (s.checkLeader(claims) != nil || !slices.ContainsFunc(claims, s.isLiveLeader)) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
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
