package pbfile

import (
	"errors"
	"fmt"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// Header is the first line of a file, the message PayloadInfo.
type Header struct {
	// Payload is the number of the type in EPICSEvent.proto.
	Payload int
	// Type is the type of the samples. It is Unknown if Varve cannot store the payload.
	Type sample.Type
	PV   string
	// Year is the year from whose start the times count.
	Year int
	// Elements is the number of elements that values had when the file was begun.
	Elements int
	Fields   []Field
}

// Payload types after the scalars and the arrays, which have the same order.
const (
	firstArray = 7
	// PayloadV4 is a pvAccess structure in pvData's own encoding. Varve does not read it.
	PayloadV4 = 14
)

// elementTypes are Varve's types of the payload types 0 to 6. A DBR_CHAR is a byte in a file, and
// an uint8 where Varve captures it.
var elementTypes = [firstArray]sample.Type{
	sample.String, sample.Int16, sample.Float32, sample.Enum, sample.Uint8, sample.Int32, sample.Float64,
}

// typeOf returns the type of a payload, or Unknown.
func typeOf(payload int) sample.Type {
	switch {
	case payload >= 0 && payload < firstArray:
		return elementTypes[payload]
	case payload >= firstArray && payload < PayloadV4:
		return elementTypes[payload-firstArray].Array()
	}
	return sample.Unknown
}

// Bounds of headers.
const (
	firstYear, lastYear = 1970, 2200
	maxFields           = 1024
)

// start returns the first instant of the header's year, in ns since 1970.
func (h *Header) start() int64 { return time.Date(h.Year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() }

// noType is the payload type of a header that has none.
const noType = -1

// parseHeader parses a message PayloadInfo. A header with a type that Varve cannot store is valid.
func parseHeader(msg []byte) (h Header, err error) {
	h.Payload = noType
	for len(msg) > 0 {
		var f field
		if f, msg, err = nextField(msg); err != nil {
			return h, err
		}
		if err := h.set(&f); err != nil {
			return h, err
		}
	}
	switch {
	case h.Payload == noType:
		return h, errors.New("the header has no type")
	case h.Year < firstYear || h.Year > lastYear:
		return h, fmt.Errorf("the header has the year %d, which is not between %d and %d", h.Year, firstYear, lastYear)
	}
	if err := pvname.Check(h.PV); err != nil {
		return h, fmt.Errorf("the header has no valid name of a PV: %w", err)
	}
	h.Type = typeOf(h.Payload)
	return h, nil
}

// set sets what a field of the message says.
func (h *Header) set(f *field) error {
	switch key := f.num<<3 | f.wire; key {
	case 1<<3 | varint:
		h.Payload = int(min(f.v, 1<<16))
	case 2<<3 | length:
		h.PV = string(f.b)
	case 3<<3 | varint:
		h.Year = int(min(f.v, 1<<16))
	case 4<<3 | varint:
		h.Elements = int(min(f.v, 1<<31-1))
	case 15<<3 | length:
		if len(h.Fields) == maxFields {
			return fmt.Errorf("the header has more than %d fields", maxFields)
		}
		v, err := parseField(f.b)
		h.Fields = append(h.Fields, v)
		return err
	}
	return nil
}
