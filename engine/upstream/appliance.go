package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/sample"
)

// Appliance reads an Archiver Appliance, or a Varve. Its Base is the URL of the retrieval, such as
// http://appliance:17668/retrieval. Several goroutines may use it.
type Appliance struct{ Server }

// Check returns an error if there is no archive at the address, so that a wrong address is not taken for an
// archive that knows no PV.
func (a *Appliance) Check(ctx context.Context) error {
	ctx, cancel := a.withIdle(ctx)
	defer cancel()
	resp, err := a.get(ctx, "/bpl/getVersion", "")
	if err != nil {
		return fmt.Errorf("no archive answers at %s: %w", a.Base.Redacted(), err)
	}
	return resp.Body.Close()
}

// Samples yields the samples of a PV with times in [from, to], in ns since 1970, by time. A sample that the
// server repeats is yielded once. A run has one type and at least one sample, and is valid until the next
// one is requested. The sequence ends after its first error, which names the server and the PV. It is
// ErrUnknownPV if the archive does not know the PV.
func (a *Appliance) Samples(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return a.samples(ctx, checker{pv: pv, from: from, to: to})
}

// SamplesAndLast yields what Samples yields, and first the last sample before from, if the server sends it.
func (a *Appliance) SamplesAndLast(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return a.samples(ctx, checker{pv: pv, from: from, to: to, lead: true})
}

// Range is what Exact reads.
type Range struct {
	// From and To are the first and the last time, in ns since 1970.
	From, To int64
	// After is the time of the latest sample that the server sent for earlier ranges of the PV, which end just
	// before From. If there was none, it is From.
	After int64
	// Change receives the fields that samples bring new values of. It may be nil.
	Change func(pbfile.Change)
}

// Exact yields the same as Samples, for callers that store the samples. It also refuses answers with samples of other times,
// and answers that could have been cut without a sign.
func (a *Appliance) Exact(ctx context.Context, pv string, r Range) iter.Seq2[*sample.Run, error] {
	return a.samples(ctx, checker{pv: pv, from: r.From, to: r.To, strict: true, after: r.After, change: r.Change})
}

// samples yields what a checker lets pass.
func (a *Appliance) samples(ctx context.Context, c checker) iter.Seq2[*sample.Run, error] {
	return a.checked(ctx, c, a.read)
}

// read requests the samples and yields them.
func (a *Appliance) read(ctx context.Context, cancel context.CancelCauseFunc, c *checker) error {
	resp, in, err := a.getData(ctx, cancel, c.pv, c.from, c.to)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if c.strict && !delimited(resp) {
		return errEndless
	}
	if err := c.read(in); err != nil {
		return err
	}
	if err := c.flushLead(); err != nil {
		return err
	}
	return whole(resp, in)
}

// errEndless is the error of an answer that ends where the connection ends.
var errEndless = errors.New("the answer has neither a length nor chunks, so it could have been cut; a proxy may be the reason: give the address of the archive itself")

// delimited reports whether an answer that was cut can be recognized.
func delimited(resp *http.Response) bool {
	return resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0 || resp.Uncompressed || resp.ProtoMajor > 1
}

// getData requests the samples of a range. The caller closes the body of the answer, and reads the bounded
// reader.
func (a *Appliance) getData(ctx context.Context, cancel context.CancelCauseFunc, pv string, from, to int64, more ...string) (*http.Response, io.Reader, error) {
	q := url.Values{"pv": {pv}, "from": {milliseconds(from)}, "to": {milliseconds(to + 999_999)}}
	for _, name := range more {
		q.Set(name, "true")
	}
	return a.open(ctx, cancel, "/data/getData.raw", q.Encode())
}

// milliseconds formats a time as an Appliance reads it: it ignores what is finer than a millisecond.
func milliseconds(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }
