package archive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Raw returns the samples of a float64 PV in the half-open interval [from, to). It uses the PB
// over HTTP format of the Archiver Appliance. It fails if the answer says that it lacks samples: those
// of damaged blocks, or the newest ones.
func (c *Client) Raw(pv string, from, to time.Time) ([]Event, error) {
	const layout = time.RFC3339Nano
	q := url.Values{"pv": {pv}, "from": {from.UTC().Format(layout)}, "to": {to.UTC().Format(layout)}}
	resp, body, err := c.fetch("/retrieval/data/getData.raw", q)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("getData.raw of %s answers %d: %.300s", pv, resp.StatusCode, body)
	}
	const lost = "Varve-Lost-Samples"
	if n := cmp.Or(resp.Header.Get(lost), resp.Trailer.Get(lost)); n != "" {
		return nil, fmt.Errorf("getData.raw of %s: %s samples cannot be read, because their blocks are damaged", pv, n)
	}
	if err := complete(resp, to); err != nil {
		return nil, fmt.Errorf("getData.raw of %s: %w", pv, err)
	}
	events, err := decodeRaw(body)
	if err != nil {
		return nil, fmt.Errorf("decoding the samples of %s: %w", pv, err)
	}
	// The answer begins with the last sample before the range.
	return slices.DeleteFunc(events, func(e Event) bool { return e.Time < from.UnixNano() || e.Time >= to.UnixNano() }), nil
}

// Field numbers of EPICSEvent.proto.
const (
	fieldSeconds, fieldNano, fieldValue = 1, 2, 3
	fieldSeverity, fieldStatus          = 4, 5
	fieldYear                           = 3 // field of PayloadInfo
)

var unescape = map[byte]byte{1: 0x1b, 2: '\n', 3: '\r'}

// decodeRaw decodes chunks. A chunk is a line of PayloadInfo, lines of samples, and an empty line.
func decodeRaw(body []byte) (events []Event, err error) {
	var year int64 // start of the chunk's year in ns since 1970; 0 before the chunk's PayloadInfo
	for line := range bytes.Lines(body) {
		line = unescaped(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case len(line) == 0:
			year = 0
		case year == 0:
			err = fields(line, func(field int, v uint64) {
				if field == fieldYear {
					year = time.Date(int(v), 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
				}
			})
		default:
			e := Event{Time: year}
			err = fields(line, e.set)
			events = append(events, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return events, nil
}

func (e *Event) set(field int, v uint64) {
	switch field {
	case fieldSeconds:
		e.Time += int64(v) * 1e9
	case fieldNano:
		e.Time += int64(v)
	case fieldValue:
		e.Value = math.Float64frombits(v)
	case fieldSeverity:
		e.Severity = int(v)
	case fieldStatus:
		e.Status = int(v)
	}
}

func unescaped(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	var out []byte
	for i := 0; i < len(line); i++ {
		if line[i] == 0x1b && i+1 < len(line) {
			i++
			out = append(out, unescape[line[i]])
		} else {
			out = append(out, line[i])
		}
	}
	return out
}

// fields calls f with each numeric field of a protobuf message. It skips strings and embedded
// messages.
func fields(msg []byte, f func(field int, v uint64)) error {
	for len(msg) > 0 {
		key, n := binary.Uvarint(msg)
		if n <= 0 {
			return errors.New("a field has no valid key")
		}
		msg = msg[n:]
		v, size := uint64(0), 0
		switch key & 7 {
		case 0:
			v, size = binary.Uvarint(msg)
		case 1:
			if size = 8; len(msg) >= size {
				v = binary.LittleEndian.Uint64(msg)
			}
		case 2:
			l, n := binary.Uvarint(msg)
			if n > 0 && l <= uint64(len(msg)) {
				size = n + int(l)
			}
		}
		if size <= 0 || size > len(msg) {
			return fmt.Errorf("field %d is truncated or has the unknown type %d", key>>3, key&7)
		}
		if key&7 != 2 {
			f(int(key>>3), v)
		}
		msg = msg[size:]
	}
	return nil
}

// complete returns an error if an answer says that it lacks samples from before a time.
func complete(resp *http.Response, to time.Time) error {
	const key = "Varve-Complete-Until"
	text := cmp.Or(resp.Trailer.Get(key), resp.Header.Get(key))
	if text == "" {
		return nil
	}
	if text == "unknown" {
		return errors.New("it is not known until when the answer is complete")
	}
	until, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("header %s: %w", key, err)
	}
	if until.Before(to) {
		return fmt.Errorf("the answer is complete only until %s", text)
	}
	return nil
}
