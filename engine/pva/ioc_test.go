package pva

import (
	"testing"

	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
)

// database has a record of each native type, and some arrays.
const database = `
record(ao, "T:DOUBLE") { field(VAL, "2.5") field(PINI, "YES") field(EGU, "mA") field(PREC, "3") field(DESC, "beam current")
  field(HOPR, "10") field(LOPR, "-10") field(HIHI, "9") field(HIGH, "2") field(LOW, "-8") field(LOLO, "-9")
  field(HHSV, "MAJOR") field(HSV, "MINOR") field(LSV, "MINOR") field(LLSV, "MAJOR") field(DRVH, "20") field(DRVL, "-20") }
record(longout, "T:LONG") { field(VAL, "-70000") field(PINI, "YES") field(EGU, "counts") field(HOPR, "7") }
record(int64out, "T:INT64") { field(VAL, "-9007199254740993") field(PINI, "YES") }
record(mbbo, "T:ENUM") { field(ZRST, "Off") field(ONST, "On") field(TWST, "Fault") field(TWSV, "MAJOR") field(VAL, "2") field(PINI, "YES") }
record(stringout, "T:STRING") { field(VAL, "a string") field(PINI, "YES") }
record(lsi, "T:LSI") { field(SIZV, "600") field(INP, {const:"a long string, longer than the forty characters of a DBR_STRING"}) field(PINI, "YES") }
record(waveform, "T:WAVE") { field(FTVL, "DOUBLE") field(NELM, "8") field(INP, [1, 2.5, -3]) field(PINI, "YES") field(EGU, "V") }
record(waveform, "T:FLOATS") { field(FTVL, "FLOAT") field(NELM, "4") field(INP, [1, 2.5]) field(PINI, "YES") }
record(waveform, "T:SHORTS") { field(FTVL, "SHORT") field(NELM, "4") field(INP, [1, -2]) field(PINI, "YES") }
record(waveform, "T:ULONGS") { field(FTVL, "ULONG") field(NELM, "4") field(INP, [1, 4000000000]) field(PINI, "YES") }
record(waveform, "T:STRINGS") { field(FTVL, "STRING") field(NELM, "4") field(INP, ["one", "", "three"]) field(PINI, "YES") }
record(waveform, "T:EMPTY") { field(FTVL, "SHORT") field(NELM, "4") field(PINI, "YES") }
record(ai, "T:UNDEFINED") { }
`

// readAll is a script that reads PVs with p4p and prints the results as JSON.
const readAll = `
import sys, json, os
from p4p.client.thread import Context
out = {}
# By the name server only: searches by UDP may find the IOC of another test.
conf = {"EPICS_PVA_NAME_SERVERS": os.environ["EPICS_PVA_NAME_SERVERS"], "EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_BROADCAST_PORT": "9"}
with Context("pva", conf=conf, useenv=False, nt=False) as ctxt:
    for pv in sys.argv[1:]:
        v = ctxt.get(pv, timeout=20)
        val = v["value"]
        meta = {"units": "", "precision": 0, "desc": ""}
        if hasattr(val, "todict") or isinstance(val, dict):
            meta["labels"] = list(val["choices"]); val = val["index"]
        values = [x.item() if hasattr(x, "item") else x for x in (val if hasattr(val, "__len__") and not isinstance(val, str) else [val])]
        if v.has("display"):
            d = v["display"]
            for k, f in (("units", "units"), ("precision", "precision"), ("desc", "description")):
                if d.has(f): meta[k] = d[f]
        for s, f in (("display", "limitLow"), ("display", "limitHigh"), ("control", "limitLow"), ("control", "limitHigh"),
                     ("valueAlarm", "lowAlarmLimit"), ("valueAlarm", "lowWarningLimit"), ("valueAlarm", "highWarningLimit"), ("valueAlarm", "highAlarmLimit")):
            if v.has(s) and v[s].has(f): meta[s + "." + f] = repr(float(v[s][f]))
        out[pv] = {"values": [repr(x) if isinstance(x, float) else str(x) for x in values],
                   "secs": v["timeStamp.secondsPastEpoch"], "nanos": v["timeStamp.nanoseconds"],
                   "severity": v["alarm.severity"], "message": v["alarm.message"], "meta": meta}
print(json.dumps(out))
`

// reading is the result of reading a PV with a client, in a form that can be compared.
type reading struct {
	Values   []string       `json:"values"`
	Secs     int64          `json:"secs"`
	Nanos    int64          `json:"nanos"`
	Severity int            `json:"severity"`
	Message  string         `json:"message"`
	Meta     map[string]any `json:"meta"`
}

func TestValuesAreWhatAnIndependentClientReads(t *testing.T) {
	ioc := epics.StartIOC(t, database)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(ioc.PVAAddr())})
	types := map[string]sample.Type{
		"T:DOUBLE": sample.Float64, "T:LONG": sample.Int32, "T:INT64": sample.Int64, "T:ENUM": sample.Enum,
		"T:STRING": sample.String, "T:LSI": sample.String, "T:UNDEFINED": sample.Float64,
		"T:WAVE": sample.Float64.Array(), "T:FLOATS": sample.Float32.Array(), "T:SHORTS": sample.Int16.Array(),
		"T:ULONGS": sample.Uint32.Array(), "T:STRINGS": sample.String.Array(), "T:EMPTY": sample.Int16.Array(),
		"T:DOUBLE.DESC": sample.String, "T:DOUBLE.PREC": sample.Int16, "T:ENUM.TWSV": sample.Enum,
	}
	read := func(names ...string) []byte { return ioc.Run(readAll, names...) }
	clienttest.CheckReadings(t, c, ioc.PVAAddr(), types, read, readingOf)
}

// readingOf converts a sample and its metadata to the form that readAll prints.
func readingOf(typ sample.Type, s *sample.Sample, m *sample.Metadata, want reading) reading {
	meta := map[string]any{"units": m.Units, "precision": float64(m.Precision), "desc": ""}
	for _, p := range m.Properties {
		if p.Name == "DESC" {
			meta["desc"] = p.Value
		}
	}
	if typ == sample.Enum {
		labels := []any{}
		for _, l := range m.Labels {
			labels = append(labels, l)
		}
		meta["labels"] = labels
	}
	limits := m.Limits()
	for path, of := range meanings {
		if of.meaning >= firstLimit {
			limit := clienttest.Float(limits[of.meaning-firstLimit])
			if _, ok := want.Meta[path]; ok || limit != "nan" { // strings and enumerations have no limits
				meta[path] = limit
			}
		}
	}
	message := s.Tag.StatusName()
	if s.Tag.Status() == 0 {
		message = ""
	}
	return reading{
		Values: clienttest.Texts(typ, s), Secs: s.Time / 1e9, Nanos: s.Time % 1e9,
		Severity: int(s.Tag.Severity()), Message: message, Meta: meta,
	}
}
