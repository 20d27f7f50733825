package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/varve/engine/sample"
)

// JSONAccess reads a server of the JSON archive access protocol 1.0: the Cassandra PV Archiver, a JSON archive proxy, or a
// Varve. Its Base is the URL that Phoebus has after json:, such as http://archive:9812/archive-access/api/1.0. Several
// goroutines may use it.
//
// The protocol has fewer types than EPICS: all integers are int64, all other numbers float64, and an array with one
// element looks like a scalar. Items without a value, which say that the PV was disconnected, are left out, and so are
// values that the server has computed.
type JSONAccess struct {
	Server
	// Key is the number of the archive on the server.
	Key int
}

// path returns the escaped path of a call about a name. A plus sign is escaped, too, because some servers read it as
// a space.
func (a *JSONAccess) path(call, name string) string {
	return fmt.Sprintf("/archive/%d/%s/%s", a.Key, call, strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
}

// Check returns an error if there is no archive at the address.
func (a *JSONAccess) Check(ctx context.Context) error {
	ctx, cancel := a.withIdle(ctx)
	defer cancel()
	err := a.check(ctx)
	if err != nil {
		err = fmt.Errorf("no archive answers at %s: %w", a.Base.Redacted(), err)
	}
	return err
}

// maxArchives is the maximum size of the list of archives, in bytes.
const maxArchives = 1 << 20

func (a *JSONAccess) check(ctx context.Context) error {
	resp, err := a.get(ctx, "/archive/", "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var all []struct {
		Key int `json:"key"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxArchives)).Decode(&all); err != nil {
		return fmt.Errorf("the answer is not a list of archives in JSON: %w", notEOF(err))
	}
	for _, archive := range all {
		if archive.Key == a.Key {
			return nil
		}
	}
	return fmt.Errorf("the server has no archive with the key %d", a.Key)
}

// Names passes the names of all PVs of the archive to a function. After an error, the list is not complete.
func (a *JSONAccess) Names(ctx context.Context, add func(name string)) error {
	return a.names(ctx, a.path("channels-by-pattern", "*"), "", add)
}

// Samples yields what Appliance.Samples yields.
func (a *JSONAccess) Samples(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return a.checked(ctx, checker{pv: pv, from: from, to: to}, a.read)
}

// SamplesAndLast yields what Appliance.SamplesAndLast yields.
func (a *JSONAccess) SamplesAndLast(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return a.checked(ctx, checker{pv: pv, from: from, to: to, lead: true}, a.read)
}

// read requests the samples and yields them.
func (a *JSONAccess) read(ctx context.Context, cancel context.CancelCauseFunc, c *checker) error {
	resp, in, err := a.getSamples(ctx, cancel, c.pv, c.from, c.to)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	items := newItems(in, maxItem)
	for !c.done {
		it, err := items.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := c.item(it); err != nil {
			return err
		}
	}
	if err := c.passAll(); err != nil {
		return err
	}
	if err := c.flushLead(); err != nil {
		return err
	}
	return whole(resp, in)
}

// getSamples requests the samples of a range. The server also sends the last one before it, and the first one after it.
func (a *JSONAccess) getSamples(ctx context.Context, cancel context.CancelCauseFunc, pv string, from, to int64) (*http.Response, io.Reader, error) {
	path := a.path("samples", pv)
	first := max(from, 0) // a server may refuse times before 1970, and has no samples there
	resp, in, err := a.open(ctx, cancel, path, fmt.Sprintf("start=%d&end=%d", first, max(to, first)))
	if err != nil {
		return nil, nil, err
	}
	if final := resp.Request.URL; !strings.HasSuffix(final.EscapedPath(), path) { // the answer names no PV
		_ = resp.Body.Close()
		return nil, nil, fmt.Errorf("the server redirects to another path, %.200q", final.EscapedPath())
	}
	return resp, in, nil
}

// item adds an item of an answer to the run, and passes the run on if it is full.
func (c *checker) item(it *item) error {
	s, typ, err := it.sample()
	if err != nil || !typ.Valid() {
		return err
	}
	if c.run.Len() > 0 && (c.run.Type != typ || c.run.Len() == batch || len(c.run.Bytes) > maxEqualBytes || s.Time > c.to) {
		if err := c.passAll(); err != nil || c.done {
			return err
		}
	}
	if c.run.Len() == 0 {
		c.run.Reset(typ)
	}
	c.run.Append(&s)
	if s.Time > c.to {
		return c.passAll()
	}
	return nil
}

// passAll passes the run on, and empties it.
func (c *checker) passAll() error {
	if c.run.Len() == 0 {
		return nil
	}
	err := c.pass()
	c.run.Reset(sample.Unknown)
	return err
}

// Describe returns what Appliance.Describe returns. A PV without samples counts as unknown, because some
// servers answer an empty list for a PV that they do not know.
func (a *JSONAccess) Describe(ctx context.Context, pv string, at int64) (*sample.Metadata, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m, err := a.describe(ctx, cancel, pv, at)
	if err != nil {
		return nil, a.failed(ctx, pv, err)
	}
	return m, nil
}

func (a *JSONAccess) describe(ctx context.Context, cancel context.CancelCauseFunc, pv string, at int64) (*sample.Metadata, error) {
	resp, in, err := a.getSamples(ctx, cancel, pv, at, at)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	items, n := newItems(in, maxItem), 0
	for {
		it, err := items.next()
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return nil, ErrUnknownPV
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		}
		n++
		if s, typ, err := it.sample(); err != nil || typ.Valid() {
			return it.metadata(typ, &s), err
		}
	}
}

// metadata returns the metadata of an item with a value.
func (it *item) metadata(typ sample.Type, s *sample.Sample) *sample.Metadata {
	m := &sample.Metadata{Type: typ, Count: 1}
	if n := typ.ElemSize(); typ.IsArray() && n > 0 {
		m.Count = len(s.Bytes) / n
	} else if typ.IsArray() {
		m.Count = len(sample.Strings(s.Bytes))
	}
	m.SetLimits(noLimits)
	if it.MetaData == nil {
		return m
	}
	d := it.MetaData
	if m.Units = d.Units; d.Precision > 0 && d.Precision <= maxPrecision {
		m.Precision = d.Precision
	}
	m.Labels = d.States[:min(len(d.States), maxLabels)]
	limits := noLimits
	for i, v := range []number{d.DisplayLow, d.DisplayHigh, d.WarnLow, d.WarnHigh, d.AlarmLow, d.AlarmHigh} {
		if v.set && !math.IsInf(v.v, 0) {
			limits[i] = v.v
		}
	}
	m.SetLimits(limits)
	return m
}

// number is a number in JSON, or one of the texts NaN, Infinity and -Infinity.
type number struct {
	v   float64
	set bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	w, err := doubleWord(strings.Trim(string(text), `"`))
	n.v, n.set = math.Float64frombits(w), err == nil
	return err
}
