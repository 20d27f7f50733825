// Package golden fills an archive with known samples, and writes down what it holds. The archives of
// releases that package compat reads were made by it:
//
//	values as Go values ─┬─ update ──▶ engine, three lives ──▶ store ──▶ golden archive
//	                     └─ JSON ────────────────────────────────────▶ expected.json
//
// It uses only interfaces that the first release has, so that it also compiles in a checkout of an older
// release: see hack/golden.
package golden

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"varve.dev/varve/engine/sample"
)

// Archive is what an archive holds.
type Archive struct {
	// Release wrote the archive, which is built from Commit.
	Release string `json:"release"`
	Commit  string `json:"commit"`
	Shards  int    `json:"shards"`
	PVs     []PV   `json:"pvs"`
}

// PV is what an archive holds of a PV.
type PV struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Retired means that the PV is in no group any more.
	Retired bool     `json:"retired,omitempty"`
	Units   string   `json:"units"`
	Samples []Sample `json:"samples"`
}

// Sample is a sample as readers get it from /api/v1/samples.
type Sample struct {
	Time     time.Time       `json:"time"`
	Value    json.RawMessage `json:"value"`
	Severity string          `json:"severity"`
	Status   string          `json:"status"`
}

// Names of PVs with a purpose of their own.
const (
	// Retired is a PV that leaves its group before the last life of the engine.
	Retired = "golden:retired"
	// Steady is a PV with a number each second, and rollups.
	Steady = "golden:steady"
	// Image is a PV whose blocks are so large that Cassandra stores them in parts.
	Image = "golden:image"
)

// imageSize is more than schema.BlockInline. The values cannot be compressed.
const imageSize = 140_000

// Rounds of samples. The engine of each life gets one of them.
const (
	perRound  = 6
	perSteady = 300
	// Rounds is the number of rounds that the archive of a release holds.
	Rounds = 3
)

// begin is the time of the first sample. The rounds of a PV are an hour apart.
var begin = time.Date(2026, 1, 5, 7, 59, 57, 0, time.UTC)

// alarms are the alarms of samples, by turns.
var alarms = []struct {
	severity       sample.Severity
	status         uint16
	severityName   string
	conditionsName string
}{
	{sample.NoAlarm, 0, "NO_ALARM", "NO_ALARM"},
	{sample.Minor, 4, "MINOR", "HIGH"},
	{sample.Major, 3, "MAJOR", "HIHI"},
	{sample.Invalid, 17, "INVALID", "UDF"},
}

// update is a sample for the engine, with the same sample for readers.
type update struct {
	sample sample.Sample
	read   Sample
}

// updates returns the samples of a PV in a round.
func (k *kind) updates(round int) []update {
	n, step := perRound, 7*time.Second+123456789
	switch k.pv {
	case Steady:
		n, step = perSteady, time.Second
	case Image:
		n = 1
	}
	out := make([]update, n)
	for i := range out {
		a := alarms[(i+round)%len(alarms)]
		at := begin.Add(time.Duration(round)*time.Hour + time.Duration(i)*step)
		v := k.value(round*n + i)
		s := sample.Sample{Time: at.UnixNano(), Tag: sample.MakeTag(a.severity, a.status)}
		v.stored(&s)
		text := v.read
		if text == nil {
			text = v.value
		}
		b, err := json.Marshal(text)
		if err != nil {
			panic(fmt.Sprintf("BUG: a value of %s: %v", k.pv, err))
		}
		out[i] = update{s, Sample{Time: at, Value: Short(b), Severity: a.severityName, Status: a.conditionsName}}
	}
	return out
}

// Short replaces a long value by its length and a hash of it.
func Short(value json.RawMessage) json.RawMessage {
	if len(value) < 10_000 {
		return value
	}
	return json.RawMessage(fmt.Sprintf(`{"length":%d,"sha256":"%x"}`, len(value), sha256.Sum256(value)))
}

// Expected returns what an archive holds after a number of rounds. A retired PV has no samples of the third
// round or later.
func Expected(release, commit string, rounds int) Archive {
	a := Archive{Release: release, Commit: commit, Shards: shards}
	for _, k := range kinds() {
		p := PV{Name: k.pv, Type: k.t.String(), Retired: k.pv == Retired, Units: units}
		for round := range rounds {
			if p.Retired && round >= 2 {
				break
			}
			for _, u := range k.updates(round) {
				p.Samples = append(p.Samples, u.read)
			}
		}
		a.PVs = append(a.PVs, p)
	}
	return a
}
