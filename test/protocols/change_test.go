package protocols

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// change describes a PV whose record has another type after a restart of its IOC.
type change struct {
	before, after string // record type and fields
	types         string // both types in the archive, the same over CA and PVA
}

// changes are changes between numbers, strings, enums and arrays.
var changes = []change{
	{`longin, VAL=7`, `ai, VAL=7.5`, "int32 float64"},
	{`ai, VAL=1.5`, `stringin, VAL=one and a half`, "float64 string"},
	{`stringin, VAL=text`, `mbbi, VAL=1 ZRST=Off ONST=On`, "string enum"},
	{`mbbi, VAL=1 ZRST=Off ONST=On`, `longin, VAL=3`, "enum int32"},
	{`ai, VAL=2.5`, `waveform, FTVL=DOUBLE NELM=4 INP=[1,2,3]`, "float64 float64[]"},
	{`waveform, FTVL=DOUBLE NELM=4 INP=[1,2,3]`, `waveform, FTVL=SHORT NELM=2 INP=[-5]`, "float64[] int16[]"},
	{`waveform, FTVL=STRING NELM=2 INP=["a","b"]`, `longin, VAL=-1`, "string[] int32"},
}

// record returns an EPICS record with the given type and fields.
func record(pv, of string) string {
	kind, fields, _ := strings.Cut(of, ", ")
	text := fmt.Sprintf("record(%s, %q) { field(PINI, \"YES\")", kind, pv)
	for _, f := range splitFields(fields) {
		name, value, _ := strings.Cut(f, "=")
		if !strings.HasPrefix(value, "[") {
			value = fmt.Sprintf("%q", value)
		}
		text += fmt.Sprintf(" field(%s, %s)", name, value)
	}
	return text + " }\n"
}

// splitFields splits "NAME=value NAME=value". Values may contain spaces.
func splitFields(fields string) (list []string) {
	for word := range strings.SplitSeq(fields, " ") {
		if strings.Contains(word, "=") {
			list = append(list, word)
		} else {
			list[len(list)-1] += " " + word
		}
	}
	return list
}

// TestLong_TypesChange checks that the archiver continues with the new type when a PV returns with
// another type, and that samples of both types can be read.
func TestLong_TypesChange(t *testing.T) {
	for client, provider := range map[*string]string{&watchCA: "CA", &watchPVA: "PVA"} {
		t.Run(provider, func(t *testing.T) { testTypesChange(t, *client, provider) })
	}
}

func testTypesChange(t *testing.T, client, provider string) {
	var before, after string
	var pvs []string
	first := map[string]string{}
	for i, c := range changes {
		pv := fmt.Sprintf("X:%d", i)
		pvs = append(pvs, pv)
		before += record(pv, c.before)
		after += record(pv, c.after)
		first[pv], _, _ = strings.Cut(c.types, " ")
	}
	ioc := epics.StartIOC(t, before)
	a := archiveOf(t, ioc, "provider: "+provider, pvs)
	old := watch(t, ioc, client, pvs)
	compare(t, a, first, old)

	ioc.Stop()
	program.Eventually(t, "all PVs are disconnected", func() bool { return a.Summary().States["disconnected"] == len(pvs) })
	ioc.SetDatabase(after)
	ioc.Start()
	a.AwaitConnected(len(pvs))
	now := watch(t, ioc, client, pvs)
	counts := map[string]int{}
	for _, pv := range pvs {
		counts[pv] = len(old[pv].Updates) + len(now[pv].Updates)
	}
	await(t, a, counts)
	packed := readRaw(t, a, pvs)
	for i, pv := range pvs {
		types := strings.Fields(changes[i].types)
		n := readNative(t, a, pv)
		if !slices.Equal(n.types(), types) {
			t.Errorf("%s has runs of types %v, want %v", pv, n.types(), types)
			continue
		}
		want := slices.Concat(old[pv].Updates, now[pv].Updates)
		p := precision{bits: 64}
		compareUpdates(t, pv+", /api/v1", want, n.updates(), p)
		compareUpdates(t, pv+", getData.json", want, readJSON(t, a, pv), p)
		compareUpdates(t, pv+", getData.raw", want, packed[pv], p)
		latest := now[pv].Metadata
		compareMetadata(t, &latest, &n.Metadata)
		checkChangeMark(t, pv, &n, strings.Join(types, " to "))
	}
}

// checkChangeMark fails the test unless the PV has exactly one mark for the change of its type,
// in addition to the marks of the restart.
func checkChangeMark(t *testing.T, pv string, n *native, text string) {
	t.Helper()
	var kinds []string
	for _, m := range n.Marks {
		kinds = append(kinds, m.Kind)
		if m.Kind == "type_changed" && m.Text != text {
			t.Errorf("%s: the mark of the change has the text %q, want %q", pv, m.Text, text)
		}
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"connected", "connected", "disconnected", "type_changed"}) {
		t.Errorf("%s has the marks %+v", pv, n.Marks)
	}
}
