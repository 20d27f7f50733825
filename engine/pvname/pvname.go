// Package pvname defines the canonical form of channel names. Keys, hashes, conflict
// checks and queries all use it, so that a PV written in two ways is archived once and
// found under both names:
//
//	ca://SR01:PRES.VAL ──▶ Canonical ──▶ SR01:PRES
//	                   ──▶ Scheme ─────▶ ca
package pvname

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// MaxLen is the longest name accepted, in bytes.
const MaxLen = 256

// Canonical returns the canonical form of a name. It removes ca:// or pva://, which is a
// setting, and a trailing .VAL, which is the default field. Other fields and modifiers
// (.DESC, .VAL$, .{"ts":{}}) stay. An alias is a name of its own.
func Canonical(name string) string {
	_, name = split(name)
	return strings.TrimSuffix(name, ".VAL")
}

// Scheme returns the provider prefix of a name: ca, pva or nothing.
func Scheme(name string) string {
	scheme, _ := split(name)
	return scheme
}

func split(name string) (scheme, rest string) {
	name = strings.TrimSpace(name)
	for _, scheme := range []string{"ca", "pva"} {
		if rest, ok := strings.CutPrefix(name, scheme+"://"); ok {
			return scheme, rest
		}
	}
	return "", name
}

// Record returns the record of a canonical name: the part before the first dot. Names of
// records contain no dots.
func Record(name string) string {
	record, _, _ := strings.Cut(name, ".")
	return record
}

// Check returns an error that says why a canonical name is invalid, or nil.
func Check(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > MaxLen:
		return fmt.Errorf("the name has %d bytes, more than %d", len(name), MaxLen)
	case !utf8.ValidString(name):
		return errors.New("the name is not valid UTF-8")
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }); i >= 0 {
		return fmt.Errorf("the name has a space or control character at byte %d", i)
	}
	return nil
}

// LooksLikePattern reports whether a name has a * or ?, as in a pattern. No name is a pattern. Such a name is
// valid, but a PV rarely has it.
func LooksLikePattern(name string) bool { return strings.ContainsAny(name, "*?") }

// Shard returns the shard in [0, shards) of a shard key. The key is the canonical name
// unless a group sets another one. The hash must never change, because stored journals
// depend on it.
func Shard(key string, shards int) int { return int(xxhash.Sum64String(key) % uint64(shards)) }
