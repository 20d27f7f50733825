package routing

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzReport checks that any report of an engine is refused, or gives a state that can be sent to a browser.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"engine":"main-engine-0","version":"v1","started":"2026-01-01T00:00:00Z","shards":[{"index":3,"channels":5,"connected":4,"samplesPerSecond":1.5}],"groups":[{"name":"lab/a"}],"dropped":{"rate":7}}`))
	f.Add([]byte(`{"diskGuard":{"reason":"x","before":"2026-01-01T00:00:00Z"},"sealingLag":{"shards":[1]},"damaged":{},"wrongClock":{},"journalKeptSeconds":1}`))
	f.Add([]byte(`{"shards":null,"started":"9999-12-31T23:59:59Z"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rep, err := decodeReport(bytes.NewReader(text))
		if err != nil {
			return
		}
		if _, err := json.Marshal(engineOf("main-engine-0", rep)); err != nil {
			t.Errorf("the state cannot be sent: %v", err)
		}
	})
}
