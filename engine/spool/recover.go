package spool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// recover finds the segments of earlier processes. A file that cannot be read stays where it is:
// neither new samples nor those in other files wait for it.
func (s *Spool) recover() error {
	names, err := s.fs.List(s.cfg.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		n, err := strconv.ParseUint(strings.TrimSuffix(name, suffix), 16, 64)
		if err != nil || name != fileName(n) {
			continue
		}
		g := &segment{n: n, path: s.fs.PathJoin(s.cfg.Dir, name), chains: map[int]*chain{}}
		s.segments = append(s.segments, g)
		s.next = max(s.next, n+1)
	}
	slices.SortFunc(s.segments, func(a, b *segment) int { return cmp.Compare(a.n, b.n) })
	for i, g := range s.segments {
		err := s.scan(g, i == len(s.segments)-1)
		if errors.Is(err, ErrOtherArchive) {
			return fmt.Errorf("reading %s: %w", g.path, err)
		}
		if err != nil {
			s.metrics.Failures.Inc()
			s.cfg.Log.Error("a spool file cannot be read; it stays, and is read at the next start", "file", g.path, "err", err)
			clear(g.chains)
		}
	}
	s.segments = slices.DeleteFunc(s.segments, func(g *segment) bool { return len(g.chains) == 0 })
	return nil
}

// scan finds the complete rows of a segment. If a process died, its last segment may have only
// a part of the bytes that were not synchronized. For the last segment scan therefore checks
// the bodies too.
func (s *Spool) scan(g *segment, last bool) error {
	file, err := s.fs.Open(g.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, min(int64(maxHeader), info.Size()))
	if err := readAt(file, head, 0); err != nil {
		return err
	}
	h, size, err := decodeHeader(head)
	if errors.Is(err, errShort) || errors.Is(err, errCorrupt) {
		return s.setAside(g, info.Size(), err)
	}
	if err != nil {
		return err
	}
	if h.archive != s.cfg.Archive {
		return fmt.Errorf("%w: it has samples of %s, and this is %s. Start with that archive once to store them, or move the file away",
			ErrOtherArchive, h.archive, s.cfg.Archive)
	}
	g.header, g.size = h, int64(size)
	r := &reader{file: file, size: info.Size(), writer: h.writer, ahead: readAhead}
	end, err := g.rows(r, last)
	if err != nil {
		return err
	}
	if cut := info.Size() - end; cut > 0 {
		g.skipped = g.skipped || !last // a segment is complete when the next one begins
		s.cfg.Log.Warn("the end of a spool file is incomplete: it was never acknowledged, or the file is damaged", "file", g.path, "bytes", cut)
	}
	if len(g.chains) == 0 {
		return s.fs.Remove(g.path)
	}
	return nil
}

// rows adds the rows of a file and returns the offset at which they end. It skips damaged bytes
// between records. The rows end before bytes at the end of the file that are no record and, if
// bodies is true, before incomplete bodies there.
func (g *segment) rows(r *reader, bodies bool) (end int64, err error) {
	var torn []placed
	offset := g.size
	for {
		rec, err := r.next(offset)
		if errors.Is(err, errCorrupt) {
			return g.size, nil
		}
		if err != nil {
			return 0, err
		}
		g.skipped = g.skipped || rec.offset > offset
		torn = append(torn, rec)
		if bodies {
			_, err = r.row(&rec)
		}
		offset = rec.next()
		if err != nil {
			if errors.Is(err, errCorrupt) {
				continue
			}
			return 0, err
		}
		for _, p := range torn { // a damaged body in the middle is reported when it is read
			g.add(&p)
		}
		torn = torn[:0]
	}
}

// setAside renames a file with a damaged header. If the header is incomplete, setAside deletes
// the file: the header is synchronized before a row is acknowledged, so the file has no
// acknowledged row.
func (s *Spool) setAside(g *segment, size int64, why error) error {
	if errors.Is(why, errShort) {
		return s.fs.Remove(g.path)
	}
	s.metrics.Failures.Inc()
	s.cfg.Log.Error("a spool file cannot be read and was renamed", "file", g.path+".damaged", "bytes", size, "err", why)
	return s.fs.Rename(g.path, g.path+".damaged")
}
