package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// reloadAfter is how long the tokens of a file are used before it is read again.
	reloadAfter = time.Second
	// maxTokenFile bounds the file of tokens in bytes.
	maxTokenFile = 4 << 20
)

// tokenFile is the tokens of a file. It reads the file again while requests use it. If the file is
// gone or invalid, it keeps the last valid tokens, and says so.
type tokenFile struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	mu     sync.Mutex
	read   time.Time // last time that the file was read
	text   []byte
	tokens []Token
	// problem is why the tokens are not those of the file, or nil.
	problem error
}

// openTokens reads a file of tokens, which must be valid.
func openTokens(path string, now func() time.Time, log *slog.Logger) (*tokenFile, error) {
	f := &tokenFile{path: path, now: now, log: log, read: now()}
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("access: tokens: %w", err)
	}
	return f, nil
}

func (f *tokenFile) load() error {
	text, err := readBounded(f.path)
	if err != nil {
		return err
	}
	if f.tokens != nil && bytes.Equal(text, f.text) {
		return nil
	}
	tokens, err := ParseTokens(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.text, f.tokens = text, append([]Token{}, tokens...)
	return nil
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

// current returns the tokens, after reading the file if that is due.
func (f *tokenFile) current() []Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if d := now.Sub(f.read); d >= 0 && d < reloadAfter {
		return f.tokens
	}
	f.read = now
	err := f.load()
	switch {
	case err != nil && (f.problem == nil || f.problem.Error() != err.Error()):
		f.log.Warn("the file of tokens cannot be used; the last valid tokens stay in use", "err", err)
	case err == nil && f.problem != nil:
		f.log.Info("the file of tokens is valid again", "path", f.path)
	}
	f.problem = err
	return f.tokens
}

// identify returns the identity of a bearer token.
func (f *tokenFile) identify(_ context.Context, secret string) (Identity, error) {
	t := findToken(f.current(), secret)
	if t == nil {
		return Identity{}, errNotMine
	}
	return t.identity(f.now())
}

// problems returns why the tokens are not those of the file.
func (f *tokenFile) problems() []string {
	f.current()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.problem == nil {
		return nil
	}
	return []string{"the file of tokens cannot be used, and the last valid tokens stay in use: " + f.problem.Error()}
}

// errNotMine means that another authenticator may know a token.
var errNotMine = errors.New("the token is not known")
