package protocols

import (
	_ "embed"
	"maps"
	"slices"
	"testing"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// These are an IOC database and two server scripts. Together they serve PVs of all types.
var (
	//go:embed testdata/types.db
	typesDB string
	//go:embed testdata/serve_caproto.py
	serveCaproto string
	//go:embed testdata/serve_p4p.py
	serveP4P string
)

// archiveOf starts an archiver for the PVs and waits until it has a sample of each. settings are
// lines of the group's spec.
func archiveOf(t *testing.T, ioc *epics.IOC, settings string, pvs []string) *program.Archiver {
	t.Helper()
	groups := t.TempDir()
	program.WriteGroup(t, groups, "types", program.Group("types", settings, pvs...))
	a := program.Standalone(t, ioc.ClientEnv(), "-f", groups, "--data", t.TempDir(), "--checkpoint", "2s")
	a.AwaitConnected(len(pvs))
	first := map[string]int{}
	for _, pv := range pvs {
		first[pv] = 1
	}
	await(t, a, first)
	return a
}

// caTypes maps the PVs of typesDB over Channel Access to their types in the archive. CA has no
// 64-bit integers, and CHAR is its only unsigned integer type.
var caTypes = map[string]string{
	"T:BI": "enum", "T:MBBI": "enum", "T:LONG": "int32", "T:INT64": "float64", "T:AI": "float64", "T:ALIAS": "float64",
	"T:CALC": "float64", "T:UDF": "float64", "T:STRING": "string", "T:LSI": "string", "T:LSO": "string",
	"T:LSI.VAL$": "string", "T:LSO.VAL$": "string", "T:AI.DESC$": "string", "T:AI.DESC": "string", "T:AI.HIHI": "float64",
	"T:AI.SCAN": "enum", "T:W:STRING": "string[]", "T:W:CHAR": "uint8[]", "T:W:UCHAR": "uint8[]", "T:W:SHORT": "int16[]",
	"T:W:USHORT": "int32[]", "T:W:LONG": "int32[]", "T:W:ULONG": "float64[]", "T:W:INT64": "float64[]",
	"T:W:UINT64": "float64[]", "T:W:FLOAT": "float32[]", "T:W:DOUBLE": "float64[]", "T:W:ENUM": "enum[]",
	"T:W:LARGE": "float64[]", "T:AAI": "float64[]",
}

// ramp returns n numbers that float64 represents exactly.
func ramp(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i) / 8
	}
	return v
}

// puts returns puts that set the records of typesDB to all alarm severities and change the
// lengths of arrays.
func puts() []put {
	const long = "a long string of more than forty characters, with µ and °"
	ai := []string{"T:AI", "T:ALIAS", "T:CALC"}
	return []put{
		{"T:BI", 0, []string{"T:BI"}},
		{"T:MBBI", 3, []string{"T:MBBI"}},
		{"T:LONG", 2147483647, []string{"T:LONG"}},
		{"T:INT64", 1234567890123, []string{"T:INT64"}},
		{"T:AI", 61.5, ai},  // MINOR
		{"T:AI", 85, ai},    // MAJOR
		{"T:AI", -80.5, ai}, // INVALID
		{"T:AI", 0.1, ai},
		{"T:STRING", "", []string{"T:STRING"}},
		{"T:LSI.VAL$", long, []string{"T:LSI", "T:LSI.VAL$"}},
		{"T:LSO.VAL$", "", []string{"T:LSO", "T:LSO.VAL$"}},
		{"T:AI.DESC", "another", []string{"T:AI.DESC", "T:AI.DESC$"}},
		{"T:AI.HIHI", 81, []string{"T:AI.HIHI"}},
		{"T:AI.EGU", "hPa", nil},
		{"T:W:STRING", []string{"x", "y"}, []string{"T:W:STRING"}},
		{"T:W:CHAR", []int{10, 13}, []string{"T:W:CHAR"}},
		{"T:W:FLOAT", ramp(8), []string{"T:W:FLOAT"}},
		{"T:W:ENUM", []int{1, 2}, []string{"T:W:ENUM"}},
		{"T:W:LARGE", ramp(200_000), []string{"T:W:LARGE"}},
		{"T:AAI", ramp(5), []string{"T:AAI"}},
	}
}

// TestTypesOfIOCByCA checks that the archive has every record type of an IOC as libca and
// caproto read it.
func TestTypesOfIOCByCA(t *testing.T) {
	ioc := epics.StartIOC(t, typesDB)
	pvs := slices.Sorted(maps.Keys(caTypes))
	a := archiveOf(t, ioc, "", pvs)
	compare(t, a, caTypes, watch(t, ioc, watchCA, pvs, puts()...))
}

// caprotoTypes maps the PVs of serveCaproto to their types in the archive.
var caprotoTypes = map[string]string{
	"C:SHORT": "int16", "C:LONG": "int32", "C:FLOAT": "float32", "C:DOUBLE": "float64", "C:BYTE": "uint8", "C:STRING": "string",
	"C:ENUM": "enum", "C:A:SHORT": "int16[]", "C:A:LONG": "int32[]", "C:A:FLOAT": "float32[]", "C:A:DOUBLE": "float64[]",
	"C:A:BYTE": "uint8[]", "C:A:STRING": "string[]", "C:CHARS": "uint8[]", "C:LARGE": "float64[]",
}

// TestLong_TypesOfCaproto checks that the archive has every PV type of caproto as libca and caproto
// read it.
func TestLong_TypesOfCaproto(t *testing.T) {
	ioc := epics.StartCAServer(t, serveCaproto)
	pvs := slices.Sorted(maps.Keys(caprotoTypes))
	a := archiveOf(t, ioc, "", pvs)
	compare(t, a, caprotoTypes, watch(t, ioc, watchCA, pvs, put{"C:ROUND", 1, pvs}, put{"C:ROUND", 2, pvs}))
}

// pvaTypes maps the PVs of typesDB over pvAccess to their types in the archive.
var pvaTypes = map[string]string{
	"T:BI": "enum", "T:MBBI": "enum", "T:LONG": "int32", "T:INT64": "int64", "T:AI": "float64", "T:ALIAS": "float64",
	"T:CALC": "float64", "T:UDF": "float64", "T:STRING": "string", "T:LSI": "string", "T:LSO": "string",
	"T:AI.DESC": "string", "T:AI.HIHI": "float64", "T:AI.SCAN": "enum", "T:W:STRING": "string[]", "T:W:CHAR": "int8[]",
	"T:W:UCHAR": "uint8[]", "T:W:SHORT": "int16[]", "T:W:USHORT": "uint16[]", "T:W:LONG": "int32[]", "T:W:ULONG": "uint32[]",
	"T:W:INT64": "int64[]", "T:W:UINT64": "uint64[]", "T:W:FLOAT": "float32[]", "T:W:DOUBLE": "float64[]",
	"T:W:LARGE": "float64[]", "T:AAI": "float64[]",
}

// TestTypesOfIOCByPVA checks that the archive has every record type of an IOC over pvAccess as
// p4p reads it.
func TestTypesOfIOCByPVA(t *testing.T) {
	ioc := epics.StartIOC(t, typesDB)
	pvs := slices.Sorted(maps.Keys(pvaTypes))
	a := archiveOf(t, ioc, "provider: PVA", pvs)
	compare(t, a, pvaTypes, watch(t, ioc, watchPVA, pvs, pvaPuts()...))
}

// pvaPuts returns the puts to PVs that are also available over pvAccess, and a few more.
func pvaPuts() (list []put) {
	for _, p := range puts() {
		if pvaTypes[p.pv] == "" && p.pv != "T:AI.EGU" {
			continue
		}
		p.changes = slices.DeleteFunc(p.changes, func(pv string) bool { return pvaTypes[pv] == "" })
		list = append(list, p)
	}
	return append(list,
		put{"T:W:UINT64", []uint64{1<<64 - 1, 1<<53 + 1}, []string{"T:W:UINT64"}},
		put{"T:AAI", []float64{}, []string{"T:AAI"}},
	)
}

// p4pTypes maps the PVs of serveP4P to their types in the archive.
var p4pTypes = map[string]string{
	"P:?": "bool", "P:s": "string", "P:b": "int8", "P:B": "uint8", "P:h": "int16", "P:H": "uint16", "P:i": "int32", "P:I": "uint32",
	"P:l": "int64", "P:L": "uint64", "P:f": "float32", "P:d": "float64",
	"P:A:?": "bool[]", "P:A:s": "string[]", "P:A:b": "int8[]", "P:A:B": "uint8[]", "P:A:h": "int16[]", "P:A:H": "uint16[]",
	"P:A:i": "int32[]", "P:A:I": "uint32[]", "P:A:l": "int64[]", "P:A:L": "uint64[]", "P:A:f": "float32[]", "P:A:d": "float64[]",
	"P:ENUM": "enum", "P:TABLE": "struct", "P:IMAGE8": "struct", "P:IMAGE16": "struct", "P:STRUCT": "struct", "P:UNION": "struct", "P:ANY": "struct",
}

// TestLong_TypesOfP4P checks that the archive has every PV type of p4p as p4p reads it. The archive
// stores the value of a normative type, and the whole structure of any other type.
func TestLong_TypesOfP4P(t *testing.T) {
	ioc := epics.StartPVAServer(t, serveP4P)
	pvs := slices.Sorted(maps.Keys(p4pTypes))
	a := archiveOf(t, ioc, "provider: PVA", pvs)
	compare(t, a, p4pTypes, watch(t, ioc, watchPVA, pvs, put{"P:ROUND", 1, pvs}, put{"P:ROUND", 2, pvs}))
}
