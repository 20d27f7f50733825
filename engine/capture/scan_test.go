package capture

import (
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// TestScanAfterAStepOfTheClock checks that a clock that is set back costs no slot: each ten seconds
// of a PV that is updated every second have their sample in the archive, whatever its time is.
func TestScanAfterAStepOfTheClock(t *testing.T) {
	const period, second = 10 * time.Second, int64(time.Second)
	for _, step := range []int64{-240, -11, -9, -1, 0, 1, 9, 240} {
		for _, ticks := range []bool{false, true} {
			var sc scanner
			var kept []int64
			dropped := uint64(0)
			emit := func(s *sample.Sample) { kept = append(kept, int64(s.Word)) }
			const updates = 600
			begin := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC).UnixNano()
			for i := range int64(updates) {
				s := sample.Sample{Time: begin + i*second + second/2, Word: uint64(i)}
				if i >= updates/2 {
					s.Time += step * second
				}
				dropped += sc.offer(&s, period, emit)
				if ticks { // the engine's clock is right
					sc.tick(begin+i*second, period, emit)
				}
			}
			for i, at := range append(kept, updates) {
				before := int64(0)
				if i > 0 {
					before = kept[i-1]
				}
				if gap := at - before; gap > 2*int64(period)/second {
					t.Errorf("step of %d s, ticks %v: no update is kept from %d s to %d s", step, ticks, before, at)
				}
			}
			if n := uint64(len(kept)) + dropped; n > updates || n < updates-1 {
				t.Errorf("step of %d s, ticks %v: %d kept and %d dropped of %d updates", step, ticks, len(kept), dropped, updates)
			}
		}
	}
}
