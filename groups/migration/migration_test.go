package migration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/capture"
)

var options = &Options{Archiver: "main"}

// made returns the files of a source, which are checked, and the groups.
func made(t *testing.T, s *Source, opts *Options) ([]File, []Group) {
	t.Helper()
	groups, err := Plan(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(groups, s.Kind, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(files, s); err != nil {
		t.Fatal(err)
	}
	return files, groups
}

func names(groups []Group) (out []string) {
	for i := range groups {
		out = append(out, groups[i].Name)
	}
	return out
}

func reasons(s *Source) (out []string) {
	for _, n := range s.Notes {
		out = append(out, n.PV+" "+n.What+": "+n.Reason)
	}
	return out
}

const typeInfos = `[
 {"pvName":"SR:A","policyName":"Default","samplingMethod":"MONITOR","samplingPeriod":"1.0","paused":"false","usePVAccess":"false",
  "archiveFields":["HIHI","DESC","ADEL"],"dataStores":["pb://localhost?name=LTS&rootFolder=/lts&partitionGranularity=PARTITION_YEAR"]},
 {"pvName":"SR:A.VAL","policyName":"Default","samplingMethod":"MONITOR","paused":"false","archiveFields":["ADEL","DESC"]},
 {"pvName":"SR:B","policyName":"2HzPVs","samplingMethod":"SCAN","samplingPeriod":0.5,"paused":true,"controllingPV":"SR:MODE"},
 {"pvName":"pva://SR:C","policyName":"Default","samplingMethod":"MONITOR","usePVAccess":"true"},
 {"pvName":"SR:D","policyName":"3DaysMTSOnly","samplingMethod":"MONITOR","dataStores":["pb://localhost?name=STS&partitionGranularity=PARTITION_HOUR",
  "pb://localhost?name=MTS&partitionGranularity=PARTITION_DAY&hold=3&gather=1","blackhole://localhost?name=LTS"]},
 {"pvName":"SR:E","policyName":"Default","samplingMethod":"MONITOR","dataStores":["pb://localhost?name=LTS&partitionGranularity=PARTITION_YEAR&pp=mean_3600&pp=max_10"]},
 {"pvName":"SR:F","samplingMethod":"SCAN","samplingPeriod":"0.01"},
 {"pvName":"SR:G","samplingMethod":"SCAN","samplingPeriod":"x"},
 {"pvName":"SR:H","samplingMethod":"DONT_ARCHIVE"},
 {"pvName":"SR:K","samplingMethod":"MONITOR","controllingPV":"SR MODE"},
 {"pvName":"SR I","samplingMethod":"MONITOR"},
 {"pvName":"#J","samplingMethod":"MONITOR"}]`

func TestAppliance(t *testing.T) {
	s, err := Appliance(strings.NewReader(typeInfos))
	if err != nil {
		t.Fatal(err)
	}
	files, groups := made(t, s, options)
	if len(s.Channels) != 7 || s.LeftOut() != 4 {
		t.Errorf("%d channels, notes %q", len(s.Channels), reasons(s))
	}
	want := []string{"2hzpvs.scan-500ms.ca.paused.enabled.", "3daysmtsonly.ca.keep-4d", "default.ca.", "default.ca.", "default.pva", "pvs.ca"}
	for i, n := range names(groups) {
		if i >= len(want) || !strings.HasPrefix(n, want[i]) {
			t.Errorf("the groups are %q, want %q", names(groups), want)
			break
		}
	}
	for pv, reason := range map[string]string{
		"SR:K": `only while "SR MODE" allows`, "SR:F": "at most every 0.1 s", "SR:G": `period "x" is not a number`,
		"SR:H": "DONT_ARCHIVE", "SR I": "space", "#J": "comment",
	} {
		if !slices.ContainsFunc(s.Notes, func(n Note) bool { return n.PV == pv && strings.Contains(n.Reason, reason) }) {
			t.Errorf("no note about %s says %q: %q", pv, reason, reasons(s))
		}
	}
	text := ""
	for _, f := range files {
		text += string(f.Text)
	}
	for _, part := range []string{"mode: Scan, period: 500ms", "paused: true", `enabledBy: {pv: "SR:MODE"}`, "provider: PVA", "raw: 4d", "{every: 10s}\n    - {every: 1h}", "properties: [ADEL, DESC]", "    SR:A\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the manifests lack %q", part)
		}
	}
}

// TestStoresBeforeABlackHole checks how long Varve keeps samples that the Appliance deletes: at least as
// long as the Appliance, and for ever if the stores do not say how long.
func TestStoresBeforeABlackHole(t *testing.T) {
	const day, year = "pb://localhost?partitionGranularity=PARTITION_DAY", "pb://localhost?partitionGranularity=PARTITION_YEAR"
	for stores, want := range map[string]string{
		day:              "1d",
		day + "&hold=3":  "3d",
		day + "|" + year: "367d",
		"pb://localhost?partitionGranularity=PARTITION_HOUR&hold=1440": "60d",
		year + "&hold=100":                     "36600d",
		year + "&hold=101":                     "",
		year + "&hold=584":                     "",
		year + "&hold=60|" + year + "&hold=60": "",
		day + "&hold=-1":                       "",
		day + "&hold=x":                        "",
		day + "|merge://localhost?dest=x":      "",
		"pb://localhost?partitionGranularity=PARTITION_CENTURY": "",
	} {
		s, set := &Source{}, Settings{}
		s.stores("A", &set, append(strings.Split(stores, "|"), "blackhole://localhost?name=LTS"))
		if string(set.Raw) != want || (want == "") != (len(s.Notes) == 1) {
			t.Errorf("%s: raw samples are kept for %q, want %q; notes %q", stores, set.Raw, want, reasons(s))
		}
	}
}

// TestApplianceAcceptsOnePV reads an answer of getPVTypeInfo, and texts that are none.
func TestApplianceAcceptsOnePV(t *testing.T) {
	s, err := Appliance(strings.NewReader(`{"pvName":"SR:A","samplingMethod":"MONITOR"}`))
	if err != nil || len(s.Channels) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"", "<html>", `"x"`, `[{"pvName":"A"}`, `[{"pvName":"A"}]]`, `[{}]`, `[{"pvName":"A"},{"pvName":7}]`} {
		if s, err := Appliance(strings.NewReader(text)); err == nil {
			t.Errorf("%s is accepted: %+v", text, s)
		}
	}
}

const engineText = `<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE engineconfig SYSTEM "engineconfig.dtd">
<engineconfig><write_period>30</write_period>
 <group><name>Vacuum</name>
  <channel><name>VA:P1</name><period>1</period><monitor/></channel>
  <channel><name>VA:P2</name><period>00:01:30</period><scan/></channel>
  <channel><name>VA:P3</name><period>5</period><monitor/><delta>0.25</delta></channel>
  <channel><name>VA:ON</name><period>5</period><monitor/><enable/></channel>
  <channel><name>sim://ramp</name><period>5</period><scan/></channel>
  <channel><name>VA:P4</name><period>no</period><scan/><strange/></channel>
 </group>
 <group><name>Strom der Röhren</name><channel><name>pva://RF:I</name><period>1</period><scan/></channel>
  <channel><name>VA:P1</name><period>1</period><monitor/></channel></group>
</engineconfig>`

func TestEngineXML(t *testing.T) {
	latin := strings.ReplaceAll(engineText, "ö", "\xf6")
	s, err := EngineXML(strings.NewReader(latin), "rdb")
	if err != nil {
		t.Fatal(err)
	}
	_, groups := made(t, s, options)
	if got := names(groups); len(got) != 5 || !slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, "strom-der-r-hren.scan-1s.pva.") }) {
		t.Errorf("the groups are %q", got)
	}
	for pv, reason := range map[string]string{"VA:ON": "enables the group", "sim://ramp": "sim://", "VA:P4": `period "no"`, "VA:P1": "lists it again"} {
		if !slices.ContainsFunc(s.Notes, func(n Note) bool { return n.PV == pv && strings.Contains(n.Reason, reason) }) {
			t.Errorf("no note about %s says %q: %q", pv, reason, reasons(s))
		}
	}
	for _, text := range []string{"", "<html/>", "<engineconfig>", "<engineconfig/>", "<engineconfig><group><channel/></group></engineconfig>", `<?xml version="1.0" encoding="UTF-16"?><engineconfig/>`} {
		if _, err := EngineXML(strings.NewReader(text), "rdb"); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestList(t *testing.T) {
	s, err := List(strings.NewReader("# PVs\nSR:A\n\npva://SR:B\nSR:A.VAL\n"))
	if err != nil || len(s.Channels) != 2 || s.Channels[1].Settings.Provider != "PVA" {
		t.Fatalf("%+v, %v", s, err)
	}
	made(t, s, options)
	s, err = List(strings.NewReader("\ufeffpv,group,mode,period,deadband,paused,properties,keep\nSR:A,mag,scan,10,,yes,DESC SCAN,90d\nSR:B,mag,,,1e-05,,,\n"))
	if err != nil || len(s.Channels) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	made(t, s, options)
	for row, want := range map[string]string{
		"SR:A,scan,0,":   "line 2: period",
		"SR:A,,5,":       "period requires mode Scan",
		"SR:A,often,,":   `mode "often"`,
		"SR:A,scan,1,-1": "deadband",
		"SR:A,scan":      "wrong number of fields",
	} {
		if _, err := List(strings.NewReader("pv,mode,period,deadband\n" + row + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
	if _, err := List(strings.NewReader("pv,perod\nA,1\n")); err == nil || !strings.Contains(err.Error(), `"perod"`) {
		t.Errorf("a wrong column: %v", err)
	}
}

// export returns the configuration of an Appliance with PVs of several settings, from first on, and the
// settings with which an archiver must capture them.
func export(first, n int) (text []byte, want map[string]capture.Settings) {
	var b bytes.Buffer
	want = map[string]capture.Settings{}
	b.WriteByte('[')
	for i := first; i < first+n; i++ {
		pv := fmt.Sprintf("SR%02d-VA:PUMP-%06d:PRES", i%40, i)
		policy, method, period, paused, pva := "Default", "MONITOR", "1.0", "false", "false"
		set := capture.Settings{Provider: capture.CA}
		switch i % 20 {
		case 3, 4:
			policy, method, period, set.Mode, set.Period = "Slow", "SCAN", "10.0", capture.Scan, 10e9
		case 5:
			policy, method, period, set.Mode, set.Period = "2HzPVs", "SCAN", "0.5", capture.Scan, 5e8
		case 7:
			paused, set.Paused = "true", true
		case 9:
			pva, set.Provider = "true", capture.PVA
		}
		if i > first {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `{"pvName":%q,"policyName":%q,"samplingMethod":%q,"samplingPeriod":%q,"paused":%q,"usePVAccess":%q,"DBRType":"DBR_SCALAR_DOUBLE","archiveFields":["HIHI","LOLO","HOPR"],`+
			`"dataStores":["pb://localhost?name=STS&rootFolder=/sts&partitionGranularity=PARTITION_HOUR","pb://localhost?name=MTS&rootFolder=/mts&partitionGranularity=PARTITION_DAY&hold=2&gather=1",`+
			`"pb://localhost?name=LTS&rootFolder=/lts&partitionGranularity=PARTITION_YEAR"],"extraFields":{"NAME":%q,"RTYP":"ai","MDEL":"0.0"},"creationTime":"2019-01-01T00:00:00.000Z"}`,
			pv, policy, method, period, paused, pva, pv)
		want[pv] = set
	}
	b.WriteByte(']')
	return b.Bytes(), want
}

// TestAChangeOfFewPVsChangesFewLines imports 2,000 PVs, and then others of which 10 are new and 10 are gone.
func TestAChangeOfFewPVsChangesFewLines(t *testing.T) { changeFewPVs(t, 2000) }

// TestLong_AChangeOfFewPVsChangesFewLines is the same with 20,000 PVs.
func TestLong_AChangeOfFewPVsChangesFewLines(t *testing.T) { changeFewPVs(t, 20_000) }

func changeFewPVs(t *testing.T, n int) {
	lines := func(first int) (out map[string]int, files []File) {
		text, _ := export(first, n)
		s, err := Appliance(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		groups, err := Plan(s, options)
		if err != nil {
			t.Fatal(err)
		}
		if files, err = Files(groups, s.Kind, options); err != nil {
			t.Fatal(err)
		}
		out = map[string]int{}
		for _, f := range files {
			for line := range strings.Lines(string(f.Text)) {
				out[f.Name+": "+line]++
			}
		}
		return out, files
	}
	before, files := lines(0)
	after, _ := lines(10)
	different := 0
	for line, n := range before {
		different += max(n-after[line], 0)
	}
	for line, n := range after {
		different += max(n-before[line], 0)
	}
	if different != 20 || len(files) > 20 {
		t.Errorf("%d lines of %d files differ after a change of 20 PVs", different, len(files))
	}
}

// TestWriteReplacesOnlyItsOwnFiles writes a directory twice, the second time with fewer groups.
func TestWriteReplacesOnlyItsOwnFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "groups")
	source := func(text string) []File {
		s, err := List(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		files, _ := made(t, s, options)
		return files
	}
	two := source("pv,group\nA:1,one\nA:2,two\n")
	if c, err := Write(dir, two); err != nil || len(c.Added) != 4 {
		t.Fatalf("%+v, %v", c, err)
	}
	if c, err := Write(dir, two); err != nil || !c.Empty() {
		t.Errorf("the second write changes %+v, %v", c, err)
	}
	own := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(own, []byte("# mine\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if c, err := Write(dir, source("pv,group\nA:1,one\nA:3,one\n")); err != nil || len(c.Removed) != 2 || len(c.Changed) != 1 {
		t.Errorf("another source changes %+v, %v", c, err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "two.yaml"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, two); err == nil || !strings.Contains(err.Error(), "two.yaml") {
		t.Errorf("a file of a person was replaced: %v", err)
	}
}

// TestNamesOfGroups checks that different classes have different names.
func TestNamesOfGroups(t *testing.T) {
	seen := map[string]class{}
	for _, c := range []class{
		{policy: ""}, {policy: "pvs"}, {policy: "a b"}, {policy: "a-b"}, {policy: "a.b"}, {policy: "pvs.ca"}, {policy: "pvs-ca"},
		{policy: "pvs", Settings: Settings{Provider: "CA"}}, {policy: "pvs", Settings: Settings{Paused: true}}, {policy: "pvs-paused"},
		{policy: "pvs", Settings: Settings{Deadband: 1}}, {policy: "pvs", Settings: Settings{Deadband: 2}}, {policy: "pvs", Settings: Settings{Raw: "3d"}},
		{policy: "pvs", Settings: Settings{Rollups: "1h"}}, {policy: "pvs", Settings: Settings{Properties: "DESC"}}, {policy: "ö"}, {policy: "ä"},
		{policy: strings.Repeat("x", 50)}, {policy: strings.Repeat("x", 51)},
	} {
		name := c.name(false)
		if other, twice := seen[name]; twice || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`).MatchString(name) {
			t.Errorf("%+v is named %q, as %+v", c, name, other)
		}
		seen[name] = c
	}
}

// TestPrefix separates the PVs of a policy by a part of their names.
func TestPrefix(t *testing.T) {
	s, err := List(strings.NewReader("SR01:A\nSR02:A\nSR01:B\nX\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, groups := made(t, s, &Options{Archiver: "main", Namespace: "epics", Prefix: regexp.MustCompile(`^(SR\d+):`)})
	if got := names(groups); len(got) != 3 || !strings.HasPrefix(got[1], "pvs.sr01") || !strings.HasPrefix(got[0], "pvs.other") {
		t.Errorf("the groups are %q", got)
	}
}
