package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// FuzzAnswers checks that any answer of an archive is refused, or gives cells that a spreadsheet does not take for
// formulas.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"metadata":{"units":"mA","labels":["Off","On"]},"runs":[{"type":"enum","samples":[{"time":"2026-01-01T00:00:00Z","value":1,"severity":"NO_ALARM"}]}],"noData":{"cause":"paused"}}`)
	f.Add(`[{"meta":{"EGU":"mA"},"data":[{"secs":1767225600,"nanos":5,"val":1.5,"severity":0,"status":0,"fields":{"stdz":"0.5"}},{"secs":1,"val":null}]}]`)
	f.Add(`{"columns":[{"name":"time"},{"name":"A"}],"rows":[["2026-01-01T00:00:00Z","=1+1"],[null,-3,"+x"]]}`)
	f.Add(`{"runs":[{"samples":[{"value":[1,`)
	f.Fuzz(func(t *testing.T, answer string) {
		var metadata *apiMetadata
		begin := func(h *seriesHead) error {
			metadata = h.metadata
			return nil
		}
		check := func(s *apiSample) error {
			checkCell(t, safeCell(metadata.describe(s.typ, s.Value)))
			return nil
		}
		_, _ = readSamples(strings.NewReader(answer), begin, check)
		_ = readProcessed(strings.NewReader(answer), begin, check)
		_ = readTable(strings.NewReader(answer), func([]apiColumn) error { return nil }, func(row []json.RawMessage) error {
			for _, text := range cells(row, safeCell) {
				checkCell(t, text)
			}
			return nil
		})
	})
}

func checkCell(t *testing.T, text string) {
	t.Helper()
	if _, err := strconv.ParseFloat(text, 64); err != nil && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		t.Errorf("the cell %q is a formula", text)
	}
}
