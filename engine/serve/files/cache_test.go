package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/serve/admission"
)

// fill returns a build function of a file with a number of chunks.
func fill(chunks int) func(context.Context, *content) (*file, error) {
	return func(_ context.Context, c *content) (*file, error) {
		if _, err := c.Write(make([]byte, chunks*chunkBytes)); err != nil {
			return nil, err
		}
		return &file{content: c}, nil
	}
}

func pvKey(pv string) key { return key{pv: pv} }

// TestTheCacheIsBounded checks that files make room for new ones, except for those that are in use.
func TestTheCacheIsBounded(t *testing.T) {
	c, ctx, now := newCache(4*chunkBytes), t.Context(), noon
	get := func(pv string) (*file, func(), error) { return c.get(ctx, pvKey(pv), now, fill(2)) }
	a, releaseA, err := get("A")
	if err != nil {
		t.Fatal(err)
	}
	_, releaseB, err := get("B")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := get("C"); !errors.Is(err, admission.ErrFull) {
		t.Errorf("with all memory in use the error is %v", err)
	}
	releaseB()
	_, releaseC, err := get("C")
	if err != nil {
		t.Fatal(err)
	}
	if again, release, err := get("A"); again != a || err != nil {
		t.Errorf("a file in use is built again, %v", err)
	} else {
		release()
	}
	now = now.Add(fresh)
	if _, _, err := get("A"); !errors.Is(err, admission.ErrFull) {
		t.Errorf("an old version in use and a new one do not fit, but the error is %v", err)
	}
	releaseA()
	releaseC()
	if _, release, err := get("A"); err != nil {
		t.Errorf("after all files are released: %v", err)
	} else {
		release()
	}
	if _, _, err := c.get(ctx, pvKey("D"), now, fill(3)); !errors.As(err, &tooLargeError{}) {
		t.Errorf("the error of a large file is %v", err)
	}
	if c.held > 4*chunkBytes || c.held < 0 {
		t.Errorf("the cache holds %d bytes", c.held)
	}
}

// TestOneClientGetsHalfOfTheCache checks that a client that builds and reads many files leaves memory to
// others, also if others have built the files.
func TestOneClientGetsHalfOfTheCache(t *testing.T) {
	c := newCache(8 * chunkBytes)
	get := func(client, pv string) (func(), error) {
		_, release, err := c.get(admission.WithClient(t.Context(), client), pvKey(pv), noon, fill(2))
		return release, err
	}
	must := func(client, pv string) func() {
		t.Helper()
		release, err := get(client, pv)
		if err != nil {
			t.Fatalf("%s gets %v for %s", client, err, pv)
		}
		return release
	}
	all := []func(){must("slow", "A"), must("slow", "B"), must("slow", "A")}
	if _, err := get("slow", "C"); !errors.Is(err, admission.ErrFull) {
		t.Errorf("a client that has its share gets %v", err)
	}
	all = append(all, must("other", "C"), must("other", "D"))
	if _, err := get("slow", "C"); !errors.Is(err, admission.ErrFull) {
		t.Errorf("a client that has its share gets %v for a file of another client", err)
	}
	all[1]()
	all[1] = must("slow", "C")
	for _, release := range all {
		release()
	}
	if len(c.used) != 0 || c.held != 8*chunkBytes {
		t.Errorf("%d files are in use; the cache holds %d bytes", len(c.used), c.held)
	}
}

// TestTheShareOfAClientIsItsOwn checks that a client gets a file that another one could not build,
// because it has had its share.
func TestTheShareOfAClientIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(4 * chunkBytes)
		full := func(context.Context, *content) (*file, error) {
			time.Sleep(time.Second)
			return nil, admission.ErrFull
		}
		failed := make(chan error)
		go func() {
			_, _, err := c.get(admission.WithClient(t.Context(), "slow"), pvKey("A"), noon, full)
			failed <- err
		}()
		synctest.Wait()
		_, release, err := c.get(admission.WithClient(t.Context(), "other"), pvKey("A"), noon, fill(1))
		if err != nil {
			t.Fatal(err)
		}
		release()
		if err := <-failed; !errors.Is(err, admission.ErrFull) {
			t.Errorf("the client that has had its share gets %v", err)
		}
	})
}

// TestOneOfManyRequestsBuilds checks that requests share a build, that each gets its error, and that
// another one builds the file if the first client goes away.
func TestOneOfManyRequestsBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, builds := newCache(4*chunkBytes), 0
		failure := errors.New("the store is away")
		var result error
		build := func(ctx context.Context, body *content) (*file, error) {
			builds++
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if result != nil {
				return nil, result
			}
			return fill(1)(ctx, body)
		}
		all := func(cancelFirst bool) (errs []error) {
			out := make(chan error, 5)
			for i := range cap(out) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					_, release, err := c.get(ctx, pvKey("A"), noon, build)
					if err == nil {
						release()
					}
					out <- err
				}()
				synctest.Wait() // the first one builds
				if i == 4 && cancelFirst {
					continue
				}
				if i == 0 && cancelFirst {
					time.AfterFunc(time.Second/2, cancel)
				}
			}
			for range cap(out) {
				errs = append(errs, <-out)
			}
			return errs
		}
		result = failure
		for _, err := range all(false) {
			if !errors.Is(err, failure) {
				t.Errorf("a request that shares a failed build returns %v", err)
			}
		}
		if builds != 1 {
			t.Errorf("%d requests built the file", builds)
		}
		result, builds = nil, 0
		canceled := 0
		for _, err := range all(true) {
			if errors.Is(err, context.Canceled) {
				canceled++
			} else if err != nil {
				t.Error(err)
			}
		}
		if builds != 2 || canceled != 1 {
			t.Errorf("after the first client went away, %d requests built the file, and %d failed", builds, canceled)
		}
		if c.held != chunkBytes {
			t.Errorf("the cache holds %d bytes", c.held)
		}
	})
}

// TestContents checks reads of parts of a content that was written in parts, and again after a
// restart.
func TestContents(t *testing.T) {
	c := newContent(func() error { return nil })
	var want []byte
	for round := range 2 {
		c.restart()
		want = nil
		for i := range 700 {
			p := bytes.Repeat([]byte{byte(i + round)}, 997)
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			want = append(want, p...)
		}
	}
	got, err := io.ReadAll(io.NewSectionReader(c, 0, c.size))
	if err != nil || !bytes.Equal(got, want) || len(c.chunks) != 3 {
		t.Errorf("%d bytes in %d chunks, %v", len(got), len(c.chunks), err)
	}
	p := make([]byte, 1000)
	if n, err := c.ReadAt(p, chunkBytes-500); n != 1000 || err != nil || !bytes.Equal(p, want[chunkBytes-500:chunkBytes+500]) {
		t.Errorf("a part over two chunks has %d bytes, %v", n, err)
	}
	if n, err := c.ReadAt(p, c.size-10); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("a part over the end has %d bytes, %v", n, err)
	}
	if tag := c.etag(); len(tag) != 34 || strings.Trim(tag, `"0123456789abcdef`) != "" {
		t.Errorf("the ETag is %s", tag)
	}
}
