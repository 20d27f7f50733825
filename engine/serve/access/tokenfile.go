package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// reloadAfter is how long the tokens of a file are used before it is read again.
	reloadAfter = time.Second
	// slowRead is how long a read of the file may take before it is a problem.
	slowRead = 10 * time.Second
	// maxTokenFile bounds the file of tokens in bytes.
	maxTokenFile = 4 << 20
)

// tokenFile holds the tokens of a file. When reloadAfter has passed, one request reads the file again. The
// others use the last tokens meanwhile, so a slow disk delays only one request. If the file is missing or
// invalid, the last valid tokens stay in use, and problems reports it.
type tokenFile struct {
	path string
	now  func() time.Time
	log  *slog.Logger
	// get reads the file.
	get func(path string) ([]byte, error)

	last atomic.Pointer[loaded]

	reading sync.Mutex // held by the request that reads
}

// loaded is the result of reading a file of tokens.
type loaded struct {
	at     time.Time
	text   []byte
	tokens []Token
	// problem is the error of this read, or nil. After an error, text and tokens are from an earlier read.
	problem error
}

// openTokens reads a file of tokens, which must be valid.
func openTokens(path string, now func() time.Time, log *slog.Logger) (*tokenFile, error) {
	f := &tokenFile{path: path, now: now, log: log, get: readBounded}
	first := f.load(&loaded{})
	if first.problem != nil {
		return nil, fmt.Errorf("access: tokens: %w", first.problem)
	}
	f.last.Store(first)
	return f, nil
}

// load reads the file. After an error, it returns the text and the tokens of last, with the error.
func (f *tokenFile) load(last *loaded) *loaded {
	next := &loaded{at: f.now(), text: last.text, tokens: last.tokens}
	text, err := f.get(f.path)
	if err != nil {
		next.problem = err
		return next
	}
	if last.tokens != nil && bytes.Equal(text, last.text) {
		return next
	}
	tokens, err := ParseTokens(text)
	if err != nil {
		next.problem = fmt.Errorf("%s: %w", f.path, err)
		return next
	}
	next.text, next.tokens = text, append([]Token{}, tokens...)
	return next
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxTokenFile {
		return nil, fmt.Errorf("%s is not a file of at most %d MiB", path, maxTokenFile>>20)
	}
	return os.ReadFile(path)
}

// current returns the tokens, after reading the file if that is due and no other request does so.
func (f *tokenFile) current() *loaded {
	last := f.last.Load()
	if !f.due(last) || !f.reading.TryLock() {
		return last
	}
	defer f.reading.Unlock()
	if last = f.last.Load(); !f.due(last) {
		return last
	}
	next := f.load(last)
	f.last.Store(next)
	switch {
	case next.problem != nil && (last.problem == nil || last.problem.Error() != next.problem.Error()):
		f.log.Warn("the file of tokens cannot be used; the last valid tokens stay in use", "err", next.problem)
	case next.problem == nil && last.problem != nil:
		f.log.Info("the file of tokens is valid again", "path", f.path)
	}
	return next
}

func (f *tokenFile) due(last *loaded) bool {
	d := f.now().Sub(last.at)
	return d < 0 || d >= reloadAfter
}

// identify returns the identity of a bearer token.
func (f *tokenFile) identify(_ context.Context, secret string) (Identity, error) {
	t := findToken(f.current().tokens, secret)
	if t == nil {
		return Identity{}, errNotMine
	}
	return t.identity(f.now())
}

// problems returns why the tokens are not those of the file.
func (f *tokenFile) problems() []string {
	last := f.current()
	if last.problem == nil {
		if d := f.now().Sub(last.at); d > slowRead && f.isReading() {
			return []string{fmt.Sprintf("the file of tokens has not been read for %v, because its disk does not answer; the last tokens stay in use", d.Round(time.Second))}
		}
		return nil
	}
	return []string{"the file of tokens cannot be used, and the last valid tokens stay in use: " + last.problem.Error()}
}

// isReading reports whether a request reads the file.
func (f *tokenFile) isReading() bool {
	if f.reading.TryLock() {
		f.reading.Unlock()
		return false
	}
	return true
}

// errNotMine means that another authenticator may know a token.
var errNotMine = errors.New("the token is not known")
