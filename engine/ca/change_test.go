package ca

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
)

// put is a script that writes values with libca. Its arguments are pairs of a PV name and a
// value.
const put = `
import sys, epics
for pv, value in zip(sys.argv[1::2], sys.argv[2::2]):
    if epics.caput(pv, value, wait=True, timeout=20) != 1:
        sys.exit("not written: " + pv)
`

func TestChangesOfMetadataOfAnIOCAreDelivered(t *testing.T) {
	ioc := epics.StartIOC(t, database)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(ioc.CAAddr())})
	number, enum := &recorder{}, &recorder{}
	c.Subscribe("T:DOUBLE", capture.SubscribeOptions{}, number)
	c.Subscribe("T:ENUM", capture.SubscribeOptions{}, enum)
	metadata := func(r *recorder, what string, ok func(m *sample.Metadata) bool) {
		t.Helper()
		clienttest.Await(t, what, func() bool { return r.View(func(r *recorder) bool { return r.Meta != nil && ok(r.Meta) }) })
	}
	metadata(number, "units", func(m *sample.Metadata) bool { return m.Units == "mA" && m.AlarmHigh == 9 })
	metadata(enum, "labels", func(m *sample.Metadata) bool { return len(m.Labels) == 3 })
	ioc.Run(put, "T:DOUBLE.EGU", "A", "T:DOUBLE.HIHI", "8.5", "T:ENUM.ONST", "Running")
	metadata(number, "other units", func(m *sample.Metadata) bool { return m.Units == "A" && m.AlarmHigh == 8.5 && m.Precision == 3 })
	metadata(enum, "another label", func(m *sample.Metadata) bool { return cmp.Equal(m.Labels, []string{"Off", "Running", "Fault"}) })
	if number.Connects != 1 || len(number.Samples) == 0 {
		t.Errorf("got calls %v", number.Calls())
	}
}

func TestLongStringsOfAnIOC(t *testing.T) {
	long := strings.Repeat("a text longer than forty characters; ", 5)
	ioc := epics.StartIOC(t, `record(lsi, "T:LSI") { field(SIZV, "300") }
record(stringout, "T:S") { field(DESC, "described") }`)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(ioc.CAAddr())})
	sinks := map[string]*recorder{}
	for _, name := range []string{"T:LSI.VAL$", "T:S.DESC$"} {
		sinks[name] = &recorder{}
		c.Subscribe(name, capture.SubscribeOptions{}, sinks[name])
	}
	has := func(name, want string) {
		t.Helper()
		clienttest.Await(t, name+" to be "+want, func() bool {
			return sinks[name].View(func(r *recorder) bool {
				return r.Info.Type == sample.String && len(r.Samples) > 0 && string(r.Samples[len(r.Samples)-1].Bytes) == want
			})
		})
	}
	has("T:LSI.VAL$", "")
	has("T:S.DESC$", "described")
	ioc.Run(put, "T:LSI.VAL$", long, "T:S.DESC", "other")
	has("T:LSI.VAL$", long)
	has("T:S.DESC$", "other")
}

func TestLargeArrays(t *testing.T) {
	const elements = 200_000
	ioc := epics.StartIOC(t, fmt.Sprintf(`record(waveform, "T:BIG") { field(FTVL, "DOUBLE") field(NELM, "%d") }
record(waveform, "T:HUGE") { field(FTVL, "DOUBLE") field(NELM, "%d") }`, elements, elements+300))
	config := Config{Config: clienttest.ByUDP(ioc.CAAddr())}
	config.MaxArrayBytes = 8 * elements
	c := clienttest.Start(t, New, config)
	big, huge := &recorder{}, &recorder{}
	c.Subscribe("T:BIG", capture.SubscribeOptions{}, big)
	c.Subscribe("T:HUGE", capture.SubscribeOptions{}, huge)
	clienttest.Await(t, "the empty values", func() bool { return big.Has(1) && huge.Has(1) })
	ioc.Run(fmt.Sprintf(`
import numpy, epics
epics.caput("T:HUGE", numpy.arange(%[1]d + 300) * 0.5, wait=True, timeout=20)
epics.caput("T:BIG", numpy.arange(%[1]d) * 0.5, wait=True, timeout=20)
`, elements))
	clienttest.Await(t, "the array", func() bool { return big.Has(2) })
	value := big.Samples[1].Bytes
	if len(value) != 8*elements {
		t.Fatalf("the array has %d bytes", len(value))
	}
	for i := range elements {
		if got := sample.Float(sample.Float64, sample.Word(sample.Float64.Array(), value, i)); got != float64(i)/2 {
			t.Fatalf("element %d has value %v", i, got)
		}
	}
	clienttest.Await(t, "the larger array to be skipped", func() bool {
		return huge.View(func(r *recorder) bool { return r.Drops[sample.TooLarge] == 1 })
	})
	if big.Connects != 1 || huge.Connects != 1 {
		t.Errorf("got calls %v and %v", big.Calls(), huge.Calls())
	}
}

// guarded is the script of an IOC with access rules, whose file must exist before the IOC starts.
const guarded = `
import code, sys, tempfile
from epicscorelibs import ioc
def file(text):
    f = tempfile.NamedTemporaryFile("w", delete=False)
    f.write(text)
    f.close()
    return f.name
ioc.iocshRegisterCommon()
ioc.ioc("asSetFilename " + file("ASG(DEFAULT) { RULE(1, WRITE) }\nASG(CLOSED) { RULE(1, NONE) }\n"))
ioc.start_ioc(file('record(ao, "T:AO") { field(VAL, "1") field(EGU, "V") field(PINI, "YES") }\n'))
code.interact(local={"ioc": ioc.ioc})
`

func TestAccessRightsOfAnIOC(t *testing.T) {
	ioc := epics.StartCAServer(t, guarded)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(ioc.CAAddr())})
	r := &recorder{}
	c.Subscribe("T:AO", capture.SubscribeOptions{}, r)
	clienttest.Await(t, "a value and metadata", func() bool { return r.Has(1) && len(r.Calls()) == 2 })
	ioc.Shell("dbpf T:AO.ASG CLOSED")
	clienttest.Await(t, "the loss of access", func() bool {
		return r.View(func(r *recorder) bool { return !r.Up && errors.Is(r.Cause, capture.ErrAccessDenied) })
	})
	ioc.Shell("dbpf T:AO 2")
	ioc.Shell("dbpf T:AO.ASG DEFAULT")
	clienttest.Await(t, "the value and metadata again", func() bool {
		return r.Has(2) && len(r.Calls()) == 5 && r.View(func(r *recorder) bool { return math.Float64frombits(r.Samples[len(r.Samples)-1].Word) == 2 })
	})
	want := []string{"connected float64", "metadata V", "disconnected: " + ioc.CAAddr() + ": " + capture.ErrAccessDenied.Error(), "connected float64", "metadata V"}
	if diff := cmp.Diff(want, r.Calls()); diff != "" || r.Early > 0 {
		t.Errorf("%d values arrived without access; (-want +got):\n%s", r.Early, diff)
	}
}
