package placement

import "slices"

// moveOffBlind begins to move shards off engines that lack a part of them: off blind engines, and
// off engines that may be blind, to find out whether another engine sees more. The engine keeps
// the shards that it sees, because moving them would gain nothing. moveOffBlind begins at most
// room moves and returns how many more may begin.
func (p *plan) moveOffBlind(room int) int {
	for _, s := range p.heaviestFirst(func(s *shard) bool { return p.blindAt(s) >= 0 }) {
		if room == 0 {
			break
		}
		before := slices.Clone(s.captures)
		p.moveToEnd(s, p.blindAt(s))
		if to := p.choose(s, fitsBeside); to != nil {
			p.move(s, to, Blind)
			room--
		} else {
			s.captures = before
		}
	}
	return room
}

// blindAt returns the index in captures of an engine that the shard should move off because the
// engine lacks a part of it, or -1 if there is none.
func (p *plan) blindAt(s *shard) int {
	if !p.isSettled(s) || !p.hasRested(s) {
		return -1
	}
	return slices.IndexFunc(s.captures, func(slot Slot) bool {
		return s.lacks(&slot) && (s.Suspect || p.engines[slot.Name].Blind)
	})
}

// probe begins to move a shard to each blind engine whose time has come, to find out whether it
// sees again. It chooses the shard that the engine could not see, if the shard's own engine sees
// it. Nothing is lost if the engine is still blind, because the source drains only once the engine
// sees as much.
func (p *plan) probe(room int) int {
	for i := range p.shards {
		s := &p.shards[i]
		to := p.engines[s.Probe]
		if room == 0 || to == nil || !slices.Contains(p.usable, to) || !p.isSettled(s) || s.isLacking() {
			continue
		}
		last := len(s.captures) - 1
		if !p.canTake(piece{s, last}, p.engines[s.captures[last].Name], to) {
			continue
		}
		p.move(s, to, Probe)
		room--
	}
	return room
}
