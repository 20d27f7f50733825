package ioc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/ioc/sim"
	"varve.dev/varve/test/epics"
)

// onlyPVA prevents p4p from using the broadcast addresses of the machine.
var onlyPVA = []string{"EPICS_PVA_AUTO_ADDR_LIST=NO", "EPICS_PVA_BROADCAST_PORT=1"}

// TestP4PSeesEveryUpdate compares each value that PVXS receives with the result of Value. The
// client finds the PVs by UDP and through a name server.
func TestP4PSeesEveryUpdate(t *testing.T) {
	s := start(t, Config{Channels: 1, Rate: 20, Elements: 5})
	args := []string{"monitor", "30"}
	for name := range s.set.Names() {
		args = append(args, name)
	}
	addr := s.PVAAddr().String()
	// The queue belongs to the client, which drops updates itself if it is too slow.
	const queue, pipeline = "PVREQUEST=record[queueSize=1000]", "PVREQUEST=record[pipeline=true,queueSize=40]"
	for how, env := range map[string][]string{
		"UDP":         {"EPICS_PVA_ADDR_LIST=" + addr, queue},
		"name server": {"EPICS_PVA_ADDR_LIST=", "EPICS_PVA_NAME_SERVERS=" + addr, queue},
		"pipeline":    {"EPICS_PVA_ADDR_LIST=" + addr, pipeline},
	} {
		t.Run(how, func(t *testing.T) {
			var got struct {
				Complete bool
				PVs      map[string]struct {
					Events [][6]any // value, severity, message, seconds, nanoseconds, changed fields
				}
			}
			runClient(t, &got, append(env, onlyPVA...), "p4p_client.py", args...)
			if !got.Complete {
				t.Error("not all updates arrived")
			}
			for name, pv := range got.PVs {
				checkUpdates(t, s, name, pv.Events)
			}
		})
	}
}

func checkUpdates(t *testing.T, s *Server, name string, events [][6]any) {
	t.Helper()
	pv, _ := s.set.Find([]byte(name))
	last, alarm := int64(-1), sampleAlarm{}
	for i, e := range events {
		tick := checkTime(t, s, name, e[3], e[4], last)
		last = tick
		want := s.set.Value(pv, tick)
		severity := sampleAlarm{float64(want.Tag.Severity()), ""}
		if want.Tag != 0 {
			severity.message = want.Tag.StatusName()
		}
		got := sampleAlarm{e[1].(float64), e[2].(string)}
		if !equal(pv.Kind, e[0].(string), &want) || got != severity {
			t.Errorf("%s at tick %d: got %v, want %v", name, tick, e, want)
		}
		// As in QSRV, an update has the alarm only if the alarm has changed.
		fields := fmt.Sprint(e[5])
		if has := strings.Contains(fields, "alarm.severity"); has != (i == 0 || got != alarm) {
			t.Errorf("%s at tick %d: changed fields %v", name, tick, fields)
		}
		alarm = got
	}
}

// sampleAlarm is an alarm in the form of pvAccess.
type sampleAlarm struct {
	severity float64
	message  string
}

// database holds records that match the PVs of a server.
const database = `
record(ao, "Q:RAMP") { field(EGU, "counts") field(VAL, "1") field(PINI, "YES") }
record(ao, "Q:SINE") { field(EGU, "mA") field(PREC, "3") field(LOPR, "-10") field(HOPR, "10") field(PINI, "YES") }
record(ao, "Q:NOISE") { field(EGU, "V") field(PREC, "4") field(HOPR, "10") field(PINI, "YES") }
record(mbbo, "Q:ENUM") {
	field(ZRST, "Idle") field(ONST, "Busy") field(TWST, "Warn") field(THST, "Fault") field(VAL, "0") field(PINI, "YES")
}
record(ao, "Q:ALARM") {
	field(EGU, "degC") field(PREC, "1") field(HOPR, "100") field(HIGH, "80") field(HIHI, "90")
	field(HSV, "MINOR") field(HHSV, "MAJOR") field(VAL, "99") field(PINI, "YES")
}
record(longout, "Q:LONG") { field(EGU, "counts") field(VAL, "1") field(PINI, "YES") }
record(stringout, "Q:STRING") { field(VAL, "value 1") field(PINI, "YES") }
record(waveform, "Q:WAVE") {
	field(EGU, "mA") field(PREC, "3") field(LOPR, "-10") field(HOPR, "10") field(FTVL, "DOUBLE") field(NELM, "5") field(PINI, "YES")
}
`

// structure is the output of p4p_client.py for a PV.
type structure struct {
	Type  string
	Value map[string]any
	Only  []string
	Put   string
}

// TestStructuresAreThoseOfQSRV compares the types and values of PVs with those of records of a
// real IOC, except for time stamps.
func TestStructuresAreThoseOfQSRV(t *testing.T) {
	qsrv, s := epics.StartIOC(t, database), start(t, still)
	args := []string{"get"}
	for _, k := range sim.Kinds() {
		args = append(args, "Q:"+k.String(), "SIM:"+k.String()+":0000")
	}
	env := append([]string{
		"EPICS_PVA_ADDR_LIST=", fmt.Sprintf("EPICS_PVA_NAME_SERVERS=%s %s", qsrv.PVAAddr(), s.PVAAddr()),
	}, onlyPVA...)
	got := map[string]structure{}
	runClient(t, &got, env, "p4p_client.py", args...)
	for _, k := range sim.Kinds() {
		want, have := got["Q:"+k.String()], got["SIM:"+k.String()+":0000"]
		if !strings.Contains(have.Put, "read-only") {
			t.Errorf("writing %v: %s", k, have.Put)
		}
		want.Put, have.Put = "", ""
		for _, v := range []map[string]any{want.Value, have.Value} {
			delete(v, "timeStamp")
			delete(v, "control") // is from a writable record
			if k == sim.Wave {
				delete(v, "valueAlarm") // QSRV does not set it for arrays
			}
			if k != sim.Alarm && k != sim.String && k != sim.Enum { // PVs of the other kinds have different values
				delete(v, "value")
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%v (-QSRV +simulated):\n%s", k, diff)
		}
	}
}
