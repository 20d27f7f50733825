package epics

import (
	"testing"
	"time"
)

const counting = `record(calc, "T:COUNT") { field(SCAN, ".1 second") field(CALC, "A+1") field(INPA, "T:COUNT.VAL") }
	record(ao, "T:FIXED") { field(VAL, "4.5") field(PINI, "YES") }`

func read(t *testing.T, s *Sampler) map[string]Value {
	t.Helper()
	values, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestSamplerReadsPresentValues(t *testing.T) {
	s := StartIOC(t, counting).StartSampler(t, []string{"T:COUNT", "T:FIXED"})
	before := read(t, s)
	if v := before["T:FIXED"].Value; v != 4.5 {
		t.Errorf("T:FIXED is %v, want 4.5", v)
	}
	for deadline := time.Now().Add(startTimeout); ; {
		now := read(t, s)["T:COUNT"]
		if now.Value > before["T:COUNT"].Value && now.Time > before["T:COUNT"].Time {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("T:COUNT stays %v", now)
		}
	}
}

func TestClockOfAnIOC(t *testing.T) {
	if FakeTime() == "" {
		t.Skip("needs libfaketime")
	}
	const ahead = time.Hour
	ioc := StartIOCWithClock(t, "127.0.0.1", counting)
	s := ioc.StartSampler(t, []string{"T:COUNT"})
	for _, offset := range []time.Duration{0, ahead, -ahead} {
		ioc.SetClock(offset)
		for deadline := time.Now().Add(startTimeout); ; {
			off := time.Until(time.Unix(0, read(t, s)["T:COUNT"].Time)) - offset
			if off.Abs() < ahead/2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the clock of the IOC is off by %v", off)
			}
		}
	}
}
