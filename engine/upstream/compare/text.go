package compare

import (
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// maxText is how many bytes of a value are printed.
const maxText = 80

// text returns the value of a sample.
func text(s *item) string {
	run := &sample.Run{Type: s.typ}
	run.Append(&s.Sample)
	b := value.Text.Append(nil, run, 0)
	if len(b) > maxText {
		return string(b[:maxText]) + "…"
	}
	return string(b)
}

// alarm returns the severity and the status of a sample.
func alarm(s *item) string { return s.Tag.Severity().String() + " " + s.Tag.StatusName() }

func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
