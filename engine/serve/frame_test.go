package serve

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
)

// frameHead is the header of a frame of /api/v1/bins?format=binary.
type frameHead struct {
	Mode, Base  string
	Rows, Bytes int
	Unit        int64
	Columns     []struct {
		Name string
		At   int
	}
}

// frameOf decodes the only frame of an answer.
func frameOf(t *testing.T, text string) (head frameHead, body []byte) {
	t.Helper()
	if !strings.HasPrefix(text, "VBIN") {
		t.Fatalf("the answer is %.100q", text)
	}
	end := 8 + int(binary.LittleEndian.Uint32([]byte(text[4:])))
	if err := json.Unmarshal([]byte(text[8:end]), &head); err != nil || end%8 != 0 {
		t.Fatalf("the header of %d bytes is %s: %v", end, text[8:end], err)
	}
	return head, []byte(text[end:])
}

// at returns where a column begins.
func (h *frameHead) at(name string) int {
	for _, c := range h.Columns {
		if c.Name == name {
			return c.At
		}
	}
	return -1
}

// wide returns how many words of 32 bits an offset has.
func (h *frameHead) wide() int {
	if h.Mode == "samples" {
		return 2
	}
	return 1
}

func (h *frameHead) base(t *testing.T) int64 {
	n, err := strconv.ParseInt(h.Base, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func clockOf(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// unquote returns the error in an answer, or the answer.
func unquote(text string) string {
	var e struct{ Error string }
	if json.Unmarshal([]byte(text), &e) == nil && e.Error != "" {
		return e.Error
	}
	return text
}
