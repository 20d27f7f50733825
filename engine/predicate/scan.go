package predicate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// token is a word, a text or a symbol of a predicate.
type token struct {
	kind tokenKind
	text string // without quotes
	at   int    // offset in bytes
	end  int
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	nameToken // a name in double quotes
	textToken // a constant in single quotes
	symbolToken
)

// is reports whether a token is a keyword or a symbol.
func (t *token) is(text string) bool {
	return t.kind == symbolToken && t.text == text || t.kind == wordToken && strings.EqualFold(t.text, text)
}

// SyntaxError is an error in the text of a predicate.
type SyntaxError struct {
	// At is the offset of the error in Text, in bytes.
	At   int
	Text string
	// Want says what would be right.
	Want string
}

// Error shows where the error is: what is before it, and what is there.
func (e *SyntaxError) Error() string {
	before := e.Text[:e.At]
	if n := utf8.RuneCountInString(before); n > shownRunes {
		r := []rune(before)
		before = "…" + string(r[n-shownRunes:])
	}
	found := strconv.Quote(firstRunes(e.Text[e.At:]))
	if strings.TrimSpace(e.Text[e.At:]) == "" {
		found = "the end"
	}
	return fmt.Sprintf("at character %d, after %q: found %s; %s", utf8.RuneCountInString(e.Text[:e.At])+1, before, found, e.Want)
}

// shownRunes is the number of characters before and after the place of an error in its message.
const shownRunes = 20

func firstRunes(s string) string {
	r := []rune(s[:min(len(s), shownRunes*utf8.UTFMax)])
	if len(r) > shownRunes {
		return string(r[:shownRunes]) + "…"
	}
	return string(r)
}

// scanner splits a text in tokens.
type scanner struct {
	text string
	at   int
}

const (
	symbols = "()<>=!"
	// breaks end a word.
	breaks = symbols + " \t\r\n'\""
)

func (s *scanner) next() (token, error) {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at == len(s.text) {
		return token{kind: endToken, at: s.at, end: s.at}, nil
	}
	start, c := s.at, s.text[s.at]
	switch {
	case c == '\'' || c == '"':
		return s.quoted(c)
	case c == '(' || c == ')':
		s.at++
	case strings.IndexByte(symbols, c) >= 0:
		if s.at++; s.at < len(s.text) && s.text[s.at] == '=' {
			s.at++
		}
		if c == '!' && s.at == start+1 {
			return token{}, &SyntaxError{start, s.text, "write != or not"}
		}
	default:
		n := strings.IndexAny(s.text[start:], breaks)
		if n < 0 {
			n = len(s.text) - start
		}
		s.at += n
		return token{wordToken, s.text[start:s.at], start, s.at}, nil
	}
	return token{symbolToken, s.text[start:s.at], start, s.at}, nil
}

// quoted scans a text or a name in quotes. A quote inside it is doubled.
func (s *scanner) quoted(quote byte) (token, error) {
	t := token{kind: textToken, at: s.at}
	if quote == '"' {
		t.kind = nameToken
	}
	var text []byte
	for i := s.at + 1; i < len(s.text); i++ {
		if s.text[i] != quote {
			text = append(text, s.text[i])
			continue
		}
		if i+1 < len(s.text) && s.text[i+1] == quote {
			text = append(text, quote)
			i++
			continue
		}
		t.text, t.end, s.at = string(text), i+1, i+1
		return t, nil
	}
	return token{}, &SyntaxError{s.at, s.text, fmt.Sprintf("the closing quote %c is missing", quote)}
}
