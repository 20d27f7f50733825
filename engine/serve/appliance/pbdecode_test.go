package appliance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// This file contains an independent reader of the parts of PB/HTTP that the tests need.

// pbField is a field of a message: a number or bytes.
type pbField struct {
	num, wire int
	v         uint64
	b         []byte
}

// decode splits a message into fields.
func decode(msg []byte) ([]pbField, error) {
	var out []pbField
	for len(msg) > 0 {
		key, n := binary.Uvarint(msg)
		if n <= 0 {
			return nil, errors.New("no key")
		}
		msg = msg[n:]
		f := pbField{num: int(key >> 3), wire: int(key & 7)}
		size := 0
		switch f.wire {
		case 0:
			if f.v, size = binary.Uvarint(msg); size <= 0 {
				return nil, errors.New("no varint")
			}
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			l, n := binary.Uvarint(msg)
			if n <= 0 || l > uint64(len(msg)-n) {
				return nil, errors.New("a length beyond the message")
			}
			f.b, size = msg[n:n+int(l)], n+int(l)
		default:
			return nil, fmt.Errorf("wire type %d", f.wire)
		}
		if size > len(msg) {
			return nil, errors.New("truncated message")
		}
		switch f.wire {
		case 1:
			f.v = binary.LittleEndian.Uint64(msg)
		case 5:
			f.v = uint64(binary.LittleEndian.Uint32(msg))
		}
		msg = msg[size:]
		out = append(out, f)
	}
	return out, nil
}

type pbChunk struct {
	typ, year, count int
	pv               string
	headers          map[string]string
	samples          []pbSample
}

type pbSample struct {
	time             int64
	vals             []pbField
	severity, status int
	fields           map[string]string
	changed          bool
}

// parseRaw reads a whole answer. It strips white space from lines, as the Python
// clients do.
func parseRaw(body []byte) ([]pbChunk, error) {
	var chunks []pbChunk
	begin := true
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			begin = true
			continue
		}
		for esc, c := range map[string]string{"\x1b\x02": "\n", "\x1b\x03": "\r"} {
			line = bytes.ReplaceAll(line, []byte(esc), []byte(c))
		}
		line = bytes.ReplaceAll(line, []byte("\x1b\x01"), []byte("\x1b"))
		fields, err := decode(line)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		if begin {
			chunks = append(chunks, parseInfo(fields))
			begin = false
			continue
		}
		c := &chunks[len(chunks)-1]
		c.samples = append(c.samples, parseSample(fields, c.year))
	}
	return chunks, nil
}

func parseInfo(fields []pbField) pbChunk {
	c := pbChunk{headers: map[string]string{}}
	for _, f := range fields {
		switch f.num {
		case 1:
			c.typ = int(f.v)
		case 2:
			c.pv = string(f.b)
		case 3:
			c.year = int(f.v)
		case 4:
			c.count = int(f.v)
		case 15:
			h, _ := decode(f.b)
			c.headers[string(h[0].b)] = string(h[1].b)
		}
	}
	return c
}

func parseSample(fields []pbField, year int) pbSample {
	s := pbSample{time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()}
	for _, f := range fields {
		switch f.num {
		case 1:
			s.time += int64(f.v) * 1e9
		case 2:
			s.time += int64(f.v)
		case 3:
			s.vals = append(s.vals, f)
		case 4:
			s.severity = int(f.v)
		case 5:
			s.status = int(f.v)
		case 7:
			if s.fields == nil {
				s.fields = map[string]string{}
			}
			h, _ := decode(f.b)
			s.fields[string(h[0].b)] = string(h[1].b)
		case 8:
			s.changed = f.v == 1
		}
	}
	return s
}

// sint decodes a zigzag number.
func sint(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
