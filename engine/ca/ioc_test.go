package ca

import (
	"testing"

	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
)

// database has a record of each native type, and some arrays.
const database = `
record(ao, "T:DOUBLE") { field(VAL, "2.5") field(PINI, "YES") field(EGU, "mA") field(PREC, "3")
  field(HOPR, "10") field(LOPR, "-10") field(HIHI, "9") field(HIGH, "2") field(LOW, "-8") field(LOLO, "-9")
  field(HHSV, "MAJOR") field(HSV, "MINOR") field(LSV, "MINOR") field(LLSV, "MAJOR") field(DRVH, "20") field(DRVL, "-20") }
record(longout, "T:LONG") { field(VAL, "-70000") field(PINI, "YES") field(EGU, "counts") field(HOPR, "7") }
record(mbbo, "T:ENUM") { field(ZRST, "Off") field(ONST, "On") field(TWST, "Fault") field(VAL, "2") field(PINI, "YES") }
record(stringout, "T:STRING") { field(VAL, "a string") field(PINI, "YES") }
record(waveform, "T:WAVE") { field(FTVL, "DOUBLE") field(NELM, "8") field(INP, [1, 2.5, -3]) field(PINI, "YES") field(EGU, "V") }
record(waveform, "T:FLOATS") { field(FTVL, "FLOAT") field(NELM, "4") field(INP, [1, 2.5]) field(PINI, "YES") }
record(waveform, "T:STRINGS") { field(FTVL, "STRING") field(NELM, "4") field(INP, ["one", "", "three"]) field(PINI, "YES") }
record(waveform, "T:EMPTY") { field(FTVL, "SHORT") field(NELM, "4") field(PINI, "YES") }
record(waveform, "T:FLOAT") { field(FTVL, "FLOAT") field(NELM, "1") field(INP, [1.25]) field(PINI, "YES") }
record(waveform, "T:CHAR") { field(FTVL, "UCHAR") field(NELM, "1") field(INP, [200]) field(PINI, "YES") }
record(waveform, "T:SHORT") { field(FTVL, "SHORT") field(NELM, "1") field(INP, [-2]) field(PINI, "YES") }
`

// readAll is a script that reads PVs with caproto and prints the results as JSON.
const readAll = `
import sys, json
from caproto.sync.client import read
text = lambda b: b.decode("latin-1") if isinstance(b, bytes) else b
out = {}
for pv in sys.argv[1:]:
    t = read(pv, data_type="time", timeout=10, repeater=False)
    c = read(pv, data_type="control", timeout=10, repeater=False).metadata
    stamp = t.metadata.stamp.as_epics_timestamp() if hasattr(t.metadata.stamp, "as_epics_timestamp") else t.metadata.stamp
    values = [text(v) if isinstance(v, bytes) else v.item() if hasattr(v, "item") else v for v in t.data]
    meta = {"units": text(getattr(c, "units", b""))}
    if hasattr(c, "precision"): meta["precision"] = c.precision
    if hasattr(c, "enum_strings"): meta["labels"] = [text(s) for s in c.enum_strings]
    for f in ("upper_disp_limit", "lower_disp_limit", "upper_alarm_limit", "upper_warning_limit", "lower_warning_limit",
              "lower_alarm_limit", "upper_ctrl_limit", "lower_ctrl_limit"):
        if hasattr(c, f): v = getattr(c, f); meta[f] = repr(float(v[0] if isinstance(v, bytes) else v))
    if pv.endswith("$"): values, meta = [bytes(t.data).split(b"\0")[0].decode()], {"units": ""}
    out[pv] = {"type": int(t.data_type), "values": [repr(v) if isinstance(v, float) else str(v) for v in values], "secs": stamp.secondsSinceEpoch, "nanos": stamp.nanoSeconds,
               "severity": int(t.metadata.severity), "status": int(t.metadata.status), "meta": meta}
print(json.dumps(out))
`

// reading is the result of reading a PV with a client, in a form that can be compared.
type reading struct {
	Values           []string       `json:"values"`
	Secs             int64          `json:"secs"`
	Nanos            int64          `json:"nanos"`
	Severity, Status int            //
	Meta             map[string]any `json:"meta"`
}

func TestValuesAreWhatAnIndependentClientReads(t *testing.T) {
	ioc := epics.StartIOC(t, database)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(ioc.CAAddr())})
	types := map[string]sample.Type{
		"T:DOUBLE": sample.Float64, "T:LONG": sample.Int32, "T:ENUM": sample.Enum, "T:STRING": sample.String,
		"T:FLOAT": sample.Float32, "T:CHAR": sample.Uint8, "T:SHORT": sample.Int16,
		"T:WAVE": sample.Float64.Array(), "T:FLOATS": sample.Float32.Array(), "T:STRINGS": sample.String.Array(),
		"T:EMPTY": sample.Int16.Array(), "T:STRING.VAL$": sample.String,
	}
	read := func(names ...string) []byte { return ioc.Run(readAll, names...) }
	clienttest.CheckReadings(t, c, ioc.CAAddr(), types, read, readingOf)
}

// readingOf converts a sample and its metadata to the form that readAll prints.
func readingOf(typ sample.Type, s *sample.Sample, m *sample.Metadata, _ reading) reading {
	meta := map[string]any{"units": m.Units}
	elem := typ.Elem()
	if elem == sample.Float64 || elem == sample.Float32 {
		meta["precision"] = float64(m.Precision)
	}
	if elem == sample.Enum {
		labels := []any{}
		for _, l := range m.Labels {
			labels = append(labels, l)
		}
		meta["labels"] = labels
	}
	if elem != sample.Enum && elem != sample.String {
		for name, v := range map[string]float64{
			"upper_disp_limit": m.DisplayHigh, "lower_disp_limit": m.DisplayLow, "upper_alarm_limit": m.AlarmHigh,
			"upper_warning_limit": m.WarnHigh, "lower_warning_limit": m.WarnLow, "lower_alarm_limit": m.AlarmLow,
			"upper_ctrl_limit": m.ControlHigh, "lower_ctrl_limit": m.ControlLow,
		} {
			meta[name] = clienttest.Float(v)
		}
	}
	const epoch = 631152000
	return reading{
		Values: clienttest.Texts(typ, s), Secs: s.Time/1e9 - epoch, Nanos: s.Time % 1e9,
		Severity: int(s.Tag.Severity()), Status: int(s.Tag.Status()), Meta: meta,
	}
}
