package native

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/serve/stream"
)

const (
	// indexAge is how old the index may be, and incompleteAge is that of an index that lacks PVs.
	indexAge, incompleteAge = 5 * time.Minute, 15 * time.Second
	// indexTime is how long building the index may take.
	indexTime = time.Minute
	// maxIndexBytes bounds the names and descriptions in the index. A million PVs take about 70 MB.
	maxIndexBytes = 128 << 20
	// maxDescription is the number of bytes of a description that are searched.
	maxDescription = 256
	// descriptionProperty is the property that describes a PV.
	descriptionProperty = "DESC"
)

// Descriptions searches the descriptions of captured PVs. A search uses an index of all of them, because reading
// the states of a million PVs takes seconds:
//
//	Channels ──states of all PVs, at most once in indexAge──▶ index ──search──▶ PVs
//
// Use NewDescriptions.
type Descriptions struct {
	channels Channels
	now      func() time.Time
	bytes    int // maxIndexBytes, except in tests
	// building has a token while nobody builds the index.
	building chan struct{}

	mu    sync.Mutex
	index *descriptionIndex // nil before the first search
}

// NewDescriptions returns an index of the PVs that channels yields. channels must not hide PVs: the callers that search
// hide PVs themselves.
func NewDescriptions(channels Channels, now func() time.Time) *Descriptions {
	d := &Descriptions{channels: channels, now: now, bytes: maxIndexBytes, building: make(chan struct{}, 1)}
	d.building <- struct{}{}
	return d
}

// descriptionIndex has the descriptions of PVs, sorted by name.
type descriptionIndex struct {
	built time.Time
	// text has the name and the description of each PV, one after another, and ends is where each of them ends.
	text []byte
	ends []uint32
	// incomplete says why PVs are missing, or is empty.
	incomplete string
}

// describedPV is a PV with its description.
type describedPV struct{ pv, text string }

// get returns an index that is recent enough, and builds it if necessary. Others wait meanwhile.
func (d *Descriptions) get(ctx context.Context) (*descriptionIndex, error) {
	if x := d.recent(); x != nil {
		return x, nil
	}
	select {
	case <-d.building:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { d.building <- struct{}{} }()
	if x := d.recent(); x != nil {
		return x, nil
	}
	x := d.build(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index = x
	return x, nil
}

// recent returns the index if it is recent enough, or nil.
func (d *Descriptions) recent() *descriptionIndex {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.index
	switch {
	case x == nil, d.now().Sub(x.built) > indexAge, x.incomplete != "" && d.now().Sub(x.built) > incompleteAge:
		return nil
	}
	return x
}

// build builds an index. It goes on if the client disconnects, because others need the index too.
func (d *Descriptions) build(ctx context.Context) *descriptionIndex {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), indexTime)
	defer cancel()
	stopping := stream.Stopping(ctx)
	x := &descriptionIndex{built: d.now()}
	for s, err := range d.channels.Statuses(ctx) {
		if err != nil {
			x.incomplete = err.Error()
			continue
		}
		if ctx.Err() != nil {
			x.incomplete = fmt.Sprintf("reading the states of all PVs takes longer than %s", indexTime)
			break
		}
		if isClosed(stopping) {
			x.incomplete = "the server is stopping"
			break
		}
		if !x.add(s.PV, descriptionOf(&s), d.bytes) {
			x.incomplete = "the index has no room for all PVs"
			break
		}
	}
	return x
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// descriptionOf returns the description of a PV, or "".
func descriptionOf(s *capture.Status) string {
	if s.Metadata == nil {
		return ""
	}
	for _, p := range s.Metadata.Properties {
		if p.Name == descriptionProperty {
			return p.Value
		}
	}
	return ""
}

// add adds a PV, unless it has no description. It returns false if the index would have too many bytes.
func (x *descriptionIndex) add(pv, text string, most int) bool {
	text = strings.ToValidUTF8(text[:min(len(text), maxDescription)], "")
	if text == "" {
		return true
	}
	if len(x.text)+len(pv)+len(text) > most {
		return false
	}
	x.text = append(x.text, pv...)
	x.ends = append(x.ends, uint32(len(x.text)))
	x.text = append(x.text, text...)
	x.ends = append(x.ends, uint32(len(x.text)))
	return true
}

// search returns the first PVs, up to limit, that pass a filter and whose descriptions contain all words in upper
// or lower case.
func (x *descriptionIndex) search(ctx context.Context, words []string, passes func(pv string) bool, limit int) (found []describedPV, err error) {
	start := uint32(0)
	for i := 0; i < len(x.ends) && len(found) < limit; i += 2 {
		pv, text := x.text[start:x.ends[i]], x.text[x.ends[i]:x.ends[i+1]]
		start = x.ends[i+1]
		if i%8192 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if containsAll(text, words) && passes(string(pv)) {
			found = append(found, describedPV{string(pv), string(text)})
		}
	}
	return found, nil
}

// containsAll reports whether a text contains all words, which are in lower case.
func containsAll(text []byte, words []string) bool {
	for _, w := range words {
		if !containsFold(text, w) {
			return false
		}
	}
	return true
}

// containsFold reports whether a text contains a word, ignoring case. The word is in lower case.
func containsFold(text []byte, word string) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf { // rare, and slow
			return strings.Contains(strings.ToLower(string(text)), word)
		}
	}
	for i := 0; i+len(word) <= len(text); i++ {
		k := 0
		for k < len(word) && lower(text[i+k]) == word[k] {
			k++
		}
		if k == len(word) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
