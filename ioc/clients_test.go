package ioc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
	"varve.dev/varve/test/epics"
)

// runClient runs a Python script of testdata and decodes its output.
func runClient(t *testing.T, out any, env []string, script string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), epics.Python(t), append([]string{"testdata/" + script}, args...)...)
	cmd.Env = append(append(os.Environ(), "EPICS_CA_AUTO_ADDR_LIST=NO"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // stops a CA repeater that the script may have started
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("running %s: %v\n%s", script, err, stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		t.Fatalf("%s printed %q: %v", script, stdout.Bytes(), err)
	}
}

// TestCaprotoReadsEveryType compares the values that caproto reads with the results of Value.
func TestCaprotoReadsEveryType(t *testing.T) {
	s := start(t, still)
	names := map[string]sim.Kind{"SIM:RAMP:0000": sim.Ramp, "SIM:LONG:0000": sim.Long, "SIM:ENUM:0000": sim.Enum, "SIM:STRING:0000": sim.String}
	args := []string{"read"}
	for name := range names {
		args = append(args, name)
	}
	var got map[string]string
	runClient(t, &got, []string{"EPICS_CA_ADDR_LIST=" + s.Addr().String()}, "caproto_client.py", args...)
	for name, k := range names {
		if got[name] != "ECA_NOWTACCESS" {
			t.Errorf("writing %s: %s", name, got[name])
		}
		for typ := proto.String; typ.Valid(); typ++ {
			if want := python(k, typ); typ != proto.String.In(proto.CTRL) && got[fmt.Sprintf("%s %d", name, typ)] != want {
				t.Errorf("%s as %v is %s, want %s", name, typ, got[fmt.Sprintf("%s %d", name, typ)], want)
			}
		}
	}
}

// python returns the text that Python prints for the value of PV 0 of a kind in a type, at
// tick 1.
func python(k sim.Kind, typ proto.DBR) string {
	set, p := stillSet(), sim.PV{Kind: k}
	s := set.Value(p, 1)
	switch k {
	case sim.String:
		if typ.Native() != proto.String {
			return "ECA_NOCONVERT"
		}
		return string(s.Bytes)
	case sim.Enum:
		if typ.Native() == proto.String {
			return set.Metadata(k).Labels[s.Word]
		}
	}
	v := sample.Float(k.Type(), s.Word)
	switch typ.Native() {
	case proto.Float, proto.Double:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprint(v)
}

func TestCaprotoMonitorsEveryUpdate(t *testing.T) {
	s := start(t, Config{Channels: 1, Rate: 50})
	var got struct {
		Complete bool
		Values   []float64
		After    float64
	}
	runClient(t, &got, []string{"EPICS_CA_ADDR_LIST=" + s.Addr().String()}, "caproto_client.py", "monitor", "40", "SIM:RAMP:0000")
	for i := 1; i < len(got.Values); i++ {
		if got.Values[i] != got.Values[i-1]+1 {
			t.Fatalf("got values %v", got.Values)
		}
	}
	if !got.Complete || got.After < got.Values[len(got.Values)-1] {
		t.Errorf("complete %v, the value read afterwards is %v", got.Complete, got.After)
	}
}

// monitored is the output of pyepics_client.py for a PV.
type monitored struct {
	Events [][5]any // value as text, severity, status, seconds, nanoseconds
	Type   string
	Text   string
	Meta   map[string]string
	// Writable is the access that libca reads from ACCESS_RIGHTS.
	Writable bool
}

// TestPyepicsSeesEveryUpdate compares each value that libca receives with the result of Value.
// The client finds the PVs by UDP and through a name server.
func TestPyepicsSeesEveryUpdate(t *testing.T) {
	s := start(t, Config{Channels: 1, Rate: 20, Elements: 5})
	args := []string{"30"}
	for name := range s.set.Names() {
		args = append(args, name)
	}
	addr := s.Addr().String()
	for how, env := range map[string][]string{
		"UDP":         {"EPICS_CA_ADDR_LIST=" + addr},
		"name server": {"EPICS_CA_ADDR_LIST=", "EPICS_CA_NAME_SERVERS=" + addr},
	} {
		t.Run(how, func(t *testing.T) {
			var got struct {
				Complete bool
				PVs      map[string]monitored
			}
			runClient(t, &got, env, "pyepics_client.py", args...)
			if !got.Complete {
				t.Error("not all events arrived")
			}
			for name, pv := range got.PVs {
				checkMonitored(t, s, name, &pv)
			}
			checkMeta(t, got.PVs)
		})
	}
}

func checkMonitored(t *testing.T, s *Server, name string, got *monitored) {
	t.Helper()
	if len(got.Events) != 30 || got.Writable {
		t.Errorf("%s: %d events, writable %v", name, len(got.Events), got.Writable)
	}
	pv, _ := s.set.Find([]byte(name))
	last := int64(-1)
	for _, e := range got.Events {
		tick := checkTime(t, s, name, e[3], e[4], last)
		last = tick
		want := s.set.Value(pv, tick)
		tag := sample.MakeTag(sample.Severity(e[1].(float64)), uint16(e[2].(float64)))
		if !equal(pv.Kind, e[0].(string), &want) || tag != want.Tag {
			t.Errorf("%s at tick %d: got %v, want %v", name, tick, e, want)
		}
	}
}

// checkTime checks that the time of an update at 20 Hz is in the schedule, and that the update
// follows the previous one. It returns the tick of the update.
func checkTime(t *testing.T, s *Server, name string, secs, nanos any, last int64) (tick int64) {
	t.Helper()
	at := int64(secs.(float64))*1e9 + int64(nanos.(float64))
	tick = (at - s.sched.Unix(0)) * 20 / 1e9
	if at != s.sched.Unix(s.sched.Due(tick*s.sched.Slices())) || last >= 0 && tick != last+1 {
		t.Errorf("%s: tick %d at %d after tick %d", name, tick, at, last)
	}
	return tick
}

// equal reports whether the text that Python prints for a value is equal to the value.
func equal(k sim.Kind, text string, want *sample.Sample) bool {
	switch k {
	case sim.String:
		return text == string(want.Bytes)
	case sim.Wave:
		return text == hex.EncodeToString(want.Bytes)
	}
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && v == sample.Float(k.Type(), want.Word)
}

func checkMeta(t *testing.T, pvs map[string]monitored) {
	t.Helper()
	for _, c := range [][3]string{
		{"SIM:ALARM:0000", "upper_warning_limit", "80.0"},
		{"SIM:ALARM:0000", "upper_alarm_limit", "90.0"},
		{"SIM:ALARM:0000", "units", "degC"},
		{"SIM:NOISE:0000", "precision", "4"},
		{"SIM:SINE:0000", "lower_disp_limit", "-10.0"},
		{"SIM:LONG:0000", "units", "counts"},
		{"SIM:ENUM:0000", "enum_strs", "('Idle', 'Busy', 'Warn', 'Fault')"},
	} {
		if got := pvs[c[0]].Meta[c[1]]; got != c[2] {
			t.Errorf("%s: %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
	if labels := stillSet().Metadata(sim.Enum).Labels; !slices.Contains(labels, pvs["SIM:ENUM:0000"].Text) {
		t.Errorf("ENUM is read as %q", pvs["SIM:ENUM:0000"].Text)
	}
	if got := pvs["SIM:LONG:0000"].Type; got != "time_long" {
		t.Errorf("LONG is read as %s", got)
	}
}
