package access

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// tokenPrefix begins the tokens of this package, so that people and scanners of secrets recognize
// them.
const tokenPrefix = "varve_"

// maxTokens is the maximum number of tokens in a file.
const maxTokens = 10_000

// Token is a line of a file of tokens:
//
//	NAME sha256:HASH groups=GROUP,GROUP expires=2027-02-23T00:00:00Z
//
// The groups and the expiry may be absent. Lines that begin with # are comments.
type Token struct {
	Name   string
	Groups []string
	// Expires is the time from which on the token is refused. It is zero for a token that does not
	// expire.
	Expires time.Time
	hash    [sha256.Size]byte
}

// NewToken makes a token and returns its secret, which is stored nowhere, and its line.
func NewToken(name string, groups []string, expires time.Time) (secret, line string, err error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	t := Token{Name: name, Groups: groups, Expires: expires.UTC().Truncate(time.Second), hash: sha256.Sum256([]byte(secret))}
	line = t.line()
	_, err = parseToken(line)
	return secret, line, err
}

func (t *Token) line() string {
	line := t.Name + " sha256:" + hex.EncodeToString(t.hash[:])
	if len(t.Groups) > 0 {
		line += " groups=" + strings.Join(t.Groups, ",")
	}
	if !t.Expires.IsZero() {
		line += " expires=" + t.Expires.Format(time.RFC3339)
	}
	return line
}

// ParseTokens parses a file of tokens. A file without tokens is valid: it lets nobody in.
func ParseTokens(text []byte) ([]Token, error) {
	var all []Token
	names := map[string]bool{}
	for i, line := range bytes.Split(text, []byte("\n")) {
		words := strings.TrimSpace(string(line))
		if words == "" || words[0] == '#' {
			continue
		}
		t, err := parseToken(words)
		switch {
		case err == nil && names[t.Name]:
			err = fmt.Errorf("the name %q occurs twice", t.Name)
		case err == nil && len(all) == maxTokens:
			err = fmt.Errorf("there are more than %d tokens", maxTokens)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		names[t.Name] = true
		all = append(all, t)
	}
	return all, nil
}

func parseToken(line string) (t Token, err error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return t, errors.New("it is not NAME sha256:HASH …; `varve token create` prints lines")
	}
	t.Name = words[0]
	if err := checkWord(t.Name); err != nil {
		return t, fmt.Errorf("the name: %w", err)
	}
	digits, found := strings.CutPrefix(words[1], "sha256:")
	hash, err := hex.DecodeString(digits)
	if !found || err != nil || len(hash) != len(t.hash) {
		return t, fmt.Errorf("the hash of %s is not sha256: and 64 hexadecimal digits", t.Name)
	}
	copy(t.hash[:], hash)
	return t, t.setOptions(words[2:])
}

func (t *Token) setOptions(words []string) (err error) {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case key == "groups" && t.Groups == nil:
			t.Groups = strings.Split(value, ",")
		case key == "expires" && t.Expires.IsZero():
			if t.Expires, err = time.Parse(time.RFC3339, value); err != nil || t.Expires.IsZero() {
				return fmt.Errorf("expires of %s: %.50q is not a time such as 2027-02-23T00:00:00Z", t.Name, value)
			}
		default:
			return fmt.Errorf("%.50q of %s is not groups=… or expires=…, each once", word, t.Name)
		}
	}
	for _, g := range t.Groups {
		if err := checkWord(g); err != nil {
			return fmt.Errorf("groups of %s: %w", t.Name, err)
		}
	}
	return nil
}

// checkWord checks the name of a user or a group. A = would make it look like an option.
func checkWord(word string) error {
	bad := func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == ',' || r == '=' || r == '#'
	}
	switch {
	case word == "":
		return errors.New("a name is empty")
	case len(word) > maxWords:
		return fmt.Errorf("%.50q… has more than %d bytes", word, maxWords)
	case strings.ContainsFunc(word, bad):
		return fmt.Errorf("%.50q has a space, a comma, a # or a =", word)
	}
	return nil
}

// findToken returns the token with a secret. It compares all hashes, each in constant time.
func findToken(all []Token, secret string) (t *Token) {
	hash := sha256.Sum256([]byte(secret))
	for i := range all {
		if subtle.ConstantTimeCompare(hash[:], all[i].hash[:]) == 1 {
			t = &all[i]
		}
	}
	return t
}

// identity returns the identity of a token, or an error if it has expired.
func (t *Token) identity(now time.Time) (Identity, error) {
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		return Identity{}, fmt.Errorf("the token %s expired at %s; ask for a new one", t.Name, t.Expires.Format(time.RFC3339))
	}
	return Identity{User: t.Name, Groups: slices.Clone(t.Groups), Method: "tokens"}, nil
}
