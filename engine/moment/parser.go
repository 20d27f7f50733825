package moment

import (
	"fmt"
	"strings"
	"time"
)

// Parser parses texts relative to a time and a zone.
type Parser struct {
	Now time.Time
	// Zone is the zone of texts without one. If it is nil, a text that needs a zone must have one.
	Zone *time.Location
}

// maxLength bounds the length of a text.
const maxLength = 100

// Parse returns the point in time that a text names. The error quotes the text, says what is
// wrong, and shows examples.
func (p *Parser) Parse(text string) (time.Time, error) {
	if len(text) > maxLength {
		return time.Time{}, fmt.Errorf("%.20q… is longer than a time: it has %d characters", text, len(text))
	}
	trimmed := strings.TrimSpace(text)
	for _, form := range []func(string) (t time.Time, matches bool, err error){
		p.relative, p.epoch, p.calendar,
	} {
		t, matches, err := form(trimmed)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q: %w", text, err)
		}
		if matches {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time; %s", text, p.examples())
}

// examples shows how to write a time.
func (p *Parser) examples() string {
	const format = "write it like %s, -15m or yesterday"
	if p.Zone == nil {
		return "write it like 2026-03-01T08:00:00Z, 2026-03-01T08:00:00+01:00 or -15m"
	}
	return fmt.Sprintf(format, "2026-03-01T08:00:00+01:00")
}
