package seal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/varve/engine/store"
)

// errOutranked: another engine seals the shard from now on.
var errOutranked = errors.New("another engine has taken over the sealing of the shard")

// takeRole writes a term above all others in the claim. It is false if ctx ended before.
func (s *Shard) takeRole(ctx context.Context) bool {
	return s.isClaimed(ctx) && s.insist(ctx, "taking over the sealing", func() error {
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
	}) == nil
}

// leaveRole writes in the claim that the engine follows. It is false if ctx ended before.
func (s *Shard) leaveRole(ctx context.Context) bool {
	return s.isClaimed(ctx) && s.insist(ctx, "following", func() error { return s.shardJournal.SetSealing(ctx, store.Follows) }) == nil
}

func (s *Shard) isClaimed(ctx context.Context) bool {
	select {
	case <-s.shardJournal.Claimed():
		return true
	case <-ctx.Done():
		return false
	}
}

// checkRank finds out whether another engine has the role. Only Run has it to lose.
func (s *Shard) checkRank(claims []store.Claim) error {
	if s.term < store.FirstTerm {
		return nil
	}
	for _, c := range claims {
		if c.Writer != s.shardJournal.Writer() && !c.Closed && outranks(&c, s.term, s.shardJournal.Writer()) {
			s.outranked.Store(true)
			return fmt.Errorf("%w: writer %v, in term %d", errOutranked, c.Writer, c.Sealing)
		}
	}
	return nil
}

// outranks reports whether a claim has the role before a writer that has it in a term.
func outranks(c *store.Claim, term store.Term, w store.WriterID) bool {
	return c.Sealing > term || c.Sealing == term && string(c.Writer[:]) > string(w[:])
}

// Follow gives up the samples of the shardJournal that another engine has sealed, until ctx ends
// or nobody seals: then vacant is true, and the role is to be taken. Should memory be
// short, it seals its own samples: doubles on disk are better than losses.
func (s *Shard) Follow(ctx context.Context) (vacant bool) {
	if !s.leaveRole(ctx) {
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
	if !s.shortOfMemory() {
		return false, nil
	}
	return false, s.help(ctx)
}

// isVacant reports whether the sealer is dead; or whether there has been none for as long
// as the death of one takes to be seen: one may be about to take the role.
func (s *Shard) isVacant(claims []store.Claim) bool {
	s.keepWatch(claims)
	dead := false
	for _, c := range claims {
		if c.Writer == s.shardJournal.Writer() || c.Closed || c.Sealing < store.FirstTerm {
			continue
		}
		if !s.silent(c) {
			s.vacant = time.Time{}
			return false
		}
		dead = true
	}
	if s.vacant.IsZero() {
		s.vacant = time.Now()
	}
	return dead || time.Since(s.vacant) >= s.cfg.Silence
}

// help seals the samples of the shardJournal, for want of memory. The claim says so from the look
// before on, so that the sealer knows by then that it does not write alone.
func (s *Shard) help(ctx context.Context) error {
	if s.term != store.Helps {
		err := s.shardJournal.SetSealing(ctx, store.Helps)
		if err == nil {
			s.term = store.Helps
		}
		return err
	}
	err := s.sealOwn(ctx)
	for pv := range s.series { // others change the directory meanwhile
		s.forget(pv)
	}
	return err
}
