package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"varve.dev/varve/test/program"
)

// startDemo runs `varve demo` in an empty directory until the test ends, and names it in VARVE_URL.
func startDemo(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var out program.Output
	root := newRoot()
	root.SetArgs([]string{"demo", "--listen", "127.0.0.1:0", "--data", "data", "--seconds", "0"})
	root.SetOut(&out)
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	url := regexp.MustCompile(`in a browser +(\S+)/\n`)
	program.Eventually(t, "the demo prints its address", func() bool { return url.MatchString(out.String()) })
	t.Setenv(urlVariable, url.FindStringSubmatch(out.String())[1])
	program.Eventually(t, "all channels have samples", func() bool {
		text, _, err := varve(t, "get", "SIM:*:0001", "--at", "now", "-o", "csv")
		return err == nil && strings.Count(text, "\r\nSIM:") >= 6
	})
}

// step is a command of a user. A command that fails must print one message and exit with 1.
type step struct {
	args string // with ' around arguments that contain spaces
	// want are regular expressions: of the output if the command succeeds, or of the error.
	want  []string
	fails bool
}

func (s *step) check(t *testing.T) {
	t.Helper()
	var args []string
	demo := strings.TrimPrefix(os.Getenv(urlVariable), "http://")
	for i, part := range strings.Split(strings.ReplaceAll(s.args, "HOST:PORT", demo), "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	text, _, err := varve(t, args...)
	if (err != nil) != s.fails {
		t.Errorf("varve %s: %v", s.args, err)
		return
	}
	if err != nil {
		text = strings.TrimPrefix(err.Error(), "no valid ArchiveGroup:\n")
		if exitCode(err) != 1 || strings.Contains(text, "\n") || strings.Contains(text, "%3A") {
			t.Errorf("varve %s: exit code %d, and not one message: %s", s.args, exitCode(err), text)
		}
	}
	for _, want := range s.want {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("varve %s prints\n%.2000s\nwhich does not match %s", s.args, text, want)
		}
	}
}

func works(args string, want ...string) step { return step{args: args, want: want} }
func fails(args string, want ...string) step { return step{args: args, want: want, fails: true} }

const (
	clockRE   = `20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d)`
	utcRE     = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`
	csvHeader = `^pv,time,value,label,units,severity,status\r\n`
	nearSine  = `nearest: SIM:SINE:0001, SIM:SINE:0000, SIM:SINE:0002`
)

// script is what users try: input that works, and input that is nearly right.
var script = []step{
	// Times.
	works("get SIM:RAMP:0001 --from -1w", clockRE),
	works("get SIM:RAMP:0001 --from -1y", clockRE),
	works("get SIM:RAMP:0001 --from -1mo", clockRE),
	works("get SIM:RAMP:0001 --from yesterday", clockRE),
	works("get SIM:RAMP:0001 --from 'yesterday 14:00'", clockRE),
	works("get SIM:RAMP:0001 --from 1767225600", clockRE),
	works("get SIM:RAMP:0001 --from 1767225600000", clockRE),
	works("get SIM:RAMP:0001 --from 2026-01-23T14:00Z", clockRE),
	works("get SIM:RAMP:0001 --from '2026-01-23T14:00 Europe/Paris'", clockRE),
	works("get SIM:RAMP:0001 --from 14:00 --to '14:01'", `\d samples`),
	fails("get SIM:RAMP:0001 --from 1h", `^--from: "1h": .*did you mean -1h`),
	fails("get SIM:RAMP:0001 --from '1 hour ago'", `^--from: "1 hour ago" is not a time; write it like .*-15m or yesterday`),
	fails("get SIM:RAMP:0001 --to tomorow", `^--to: "tomorow" is not a time`),
	fails("get SIM:RAMP:0001 --from now --to -1h", `^--from: now is `+clockRE+`, which is after --to, `+clockRE+`; write the earlier time in --from$`),
	fails("get SIM:RAMP:0001 --from 9:00 --to yesterday", `^--from: 9:00 is `+clockRE+`, which is after --to, `+clockRE+`; did you mean "yesterday 09:00"\?$`),
	fails("get SIM:RAMP:0001 --at now --from -1h", `^--at is one time`),
	fails("get SIM:RAMP:0001 --last 0", `^--last: 0 is not between 1 and`),
	fails("get SIM:RAMP:0001 --last 3 --from -1h", `cannot be combined with --from`),

	// Archives. HOST:PORT is that of the demo.
	works("get SIM:RAMP:0001 --last 1 --url HOST:PORT", clockRE),
	works("get SIM:RAMP:0001 --last 1 --url http://HOST:PORT/retrieval", clockRE),
	works("get SIM:RAMP:0001 --last 1 --url http://HOST:PORT/api/v1/samples", clockRE),
	fails("get SIM:RAMP:0001 --url ftp://HOST", `^--url: "ftp://HOST" begins with ftp: only http and https are possible; write it like http://`),
	fails("get SIM:RAMP:0001 --url ''", `^--url: "" is empty; write it like http://`),
	fails("get SIM:RAMP:0001 --url pbraw://127.0.0.1/retrieval", `^--url: "pbraw://.*Phoebus.*write it like http://127.0.0.1:17665`),
	fails("get SIM:RAMP:0001 --url 127.0.0.1:1", `^cannot reach the archive at http://127.0.0.1:1: .*refused; check`),
	fails("status --url no-such-host.invalid", `^cannot reach the archive at http://no-such-host.invalid: `),

	// Why.
	works("why SIM:RAMP:0001", `^SIM:RAMP:0001: samples arrive: the last one is of 20.*\nlast sample: 20.*\n\nSTEP +STATE +SINCE +DETAILS\ngroup +ok `),
	works("why SIM:RAMP:0001 SIM:SINE:0001 -o json", `^\[\n\{"pv":"SIM:RAMP:0001",.*"ok":true,.*\},\n\{"pv":"SIM:SINE:0001",`),
	fails("why SIM:RAMP:9999", `^samples are missing for 1 of 1 PVs$`),

	// PVs.
	works("get SIM:RAMP:0001 SIM:SINE:0001 --last 2", `^SIM:RAMP:0001 in counts\n(`+clockRE+` .*\n)+2 samples\n\nSIM:SINE:0001 in mA\n`),
	works("get 'SIM:RAMP:000?' --last 1 -o csv", csvHeader+`(SIM:RAMP:000\d,`+utcRE+`,[^,]+,,[^,]*,NO_ALARM,NO_ALARM\r\n){10}$`),
	works("get SIM:ENUM:0001 --last 1", `\n`+clockRE+` +[A-Z][a-z]+ \(\d\) `),
	works("get SIM:ENUM:0001 --last 1 --format CSV", csvHeader+`SIM:ENUM:0001,`+utcRE+`,\d,[A-Z][a-z]+,,`),
	works("get SIM:WAVE:0001 --last 1", `\[.*, …\] \(1000 elements\)`),
	works("get SIM:SINE:0001 --last 1 -o json", `^\{"pv":"SIM:SINE:0001","metadata":\{"units":"mA"`),
	works("get SIM:SINE:0001 SIM:SINE:0002 --last 1 -o json", `^\[\n\{"pv":"SIM:SINE:0001",(?s:.*)\n,\n\{"pv":"SIM:SINE:0002",(?s:.*)\n\]\n$`),
	works("get SIM:SINE:0001 SIM:ENUM:0001 --at now", `^PV +TIME +VALUE +UNITS +SEVERITY +STATUS\nSIM:SINE:0001 +`+clockRE+` +\S+ +mA +NO_ALARM`),
	works("get SIM:SINE:0001 --at 2001-01-01", `SIM:SINE:0001 +- +-`),
	works("get mean_1(SIM:SINE:0001) --from -3s", `^mean_1\(SIM:SINE:0001\) in mA\n`+clockRE),
	works("get count_1(SIM:SINE:000?) --from -3s -o csv", csvHeader+`(?s:.*)count_1\(SIM:SINE:0001\),`+utcRE+`,\d+\.0,,,NO_ALARM`),
	works("get stats_1(SIM:SINE:0001) --from -3s -o json", `^\{"pv":"stats_1\(SIM:SINE:0001\)","runs":\[\{"samples":\[\n\{"time":"`+utcRE+`","value":\[`),
	fails("get SIM:SIN:0001", `^unknown PV SIM:SIN:0001; `+nearSine),
	fails("get sim:sine:0001", `^unknown PV sim:sine:0001; nearest: SIM:SINE:0001 \(names of PVs are case-sensitive\)`),
	fails("get SIM:SINE:0001 QQQQ", `^unknown PV QQQQ; no known name is like it`),
	fails("get mean_1(SIM:SIN:0001)", `^unknown PV SIM:SIN:0001; `+nearSine),
	fails("get 'NOPE*'", `^no PV matches NOPE\*`),
	fails("get", `the name of a PV is required`),
	fails("get avg_1(SIM:SINE:0001)", `unknown post-processor "avg"; the known post-processors are .*mean, `),
	fails("get mean_x(SIM:SINE:0001)", `width in seconds "x" is not a whole number`),
	fails("get mean_1(SIM:SINE:0001) --last 3", `--last and --at read stored samples`),
	fails("get SIM:SINE:0001 --format excel", `"excel" for "-o, --format" flag: the formats are table, csv, json, arrow, parquet`),

	// Status.
	works("status", `(?m)^default/sim-monitor +60 +`),
	works("status -o json", `^\{"total":`),
	works("status -o csv", `^group,channels,connected,.*\r\ndefault/sim-deadband,20,20,`),
	works("status --sort RATE --top 3", `^PV .* SINCE +LAST +CAUSE\n(SIM.*\n){3}$`),
	works("status --sort stored --top 2 -o json", `^\[\n\{"pv":"SIM:.*,\n\{"pv":"SIM:.*\n\]\n$`),
	works("status 'SIM:RAMP:*' -o Csv", `^pv,group,state,.*\r\n(SIM:RAMP:00\d\d,default/sim-monitor,connected,.*\r\n){20}$`),
	fails("status 'NOPE*'", `^no channel matches NOPE\*$`),
	fails("status sim:sine:0001", `^no group captures sim:sine:0001; nearest: SIM:SINE:0001 \(`),
	fails("status --state connectd", `^--state: "connectd" is not one of searching, connected, disconnected, unsupported, paused, disabled$`),
	fails("status --state disconnected", `^no channel is disconnected$`),
	fails("status --sort speed", `^--sort: "speed" is not one of name, rate, received,`),
	fails("status --top -1", `^--top: -1 is negative`),

	// Flags and manifests of an archiver.
	fails("standalone -f good.yaml --memory 1GB", `"1GB" for "--memory" flag: .*the suffixes are Ki, Mi, Gi and Ti`),
	fails("standalone -f good.yaml --checkpoint 1d", `^--checkpoint: 24h0m0s is not between 1s and 6h`),
	fails("standalone -f good.yaml --checkpoint 5", `"5" for "--checkpoint" flag: not a duration; write a number and one of the units ms, s, .*15m or 1d$`),
	fails("standalone -f good.yaml --listen 17665", `^--listen: .*17665: missing port in address; write it like 127.0.0.1:17665$`),
	fails("standalone -f good.yaml --data ''", `^--data: the name of the directory is empty`),
	fails("standalone -f good.yaml --cassandra h --data d", `^--cassandra and --data cannot be combined`),
	fails("standalone -f text.yaml", `^text.yaml:5: ArchiveGroup "x": spec.channels\[0\]: .*write \{name: "PV"\}$`),
	fails("standalone -f forever.yaml", `^forever.yaml:5: .*leave raw out to keep data forever$`),
	fails("standalone -f months.yaml", `^months.yaml:5: .*months differ in length: write 90d$`),
	fails("standalone -f number.yaml", `^number.yaml:5: .*write it in quotes: "5"$`),
	fails("standalone -f list.yaml", `^list.yaml:5: .*spec.channels is a list: write it like \[\{name: "PV"\}\]$`),
	fails("standalone -f typo.yaml", `^typo.yaml:5: .*unknown field "spec.chanels"; the fields of spec are .*, channels, `),

	// Completion, in the form that shells use.
	works("__complete get SIM:SINE:000", `^SIM:SINE:0000\n(SIM:SINE:000\d\n){9}:4\n`),
	works("__complete get mean_60(SIM:SINE:0001", `^mean_60\(SIM:SINE:0001\)\n:4\n`),
	works("__complete status --state con", `(?m)^connected\n`),
	works("__complete status --format ''", `^table\ncsv\njson\n`),
}

// manifests are the files of the script: the part of a spec in each of them.
var manifests = map[string]string{
	"good":    "channels: [{name: PV}]",
	"text":    `channels: ["PV"]`,
	"forever": "retention: {raw: forever}",
	"months":  "retention: {raw: 3mo}",
	"number":  "channels: [{name: 5}]",
	"list":    "channels: {name: PV}",
	"typo":    "chanels: []",
}

// TestWhatUsersTry runs a script of commands against a demo.
func TestWhatUsersTry(t *testing.T) {
	startDemo(t)
	for name, spec := range manifests {
		text := "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: x}\nspec: {archiverRef: {name: main},\n  " + spec + "}\n"
		if err := os.WriteFile(name+".yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range script {
		script[i].check(t)
	}
}

// TestTextIsHarmless checks that a value cannot control a terminal, and that a spreadsheet does not
// take it for a formula.
func TestTextIsHarmless(t *testing.T) {
	for in, want := range map[string]string{"ok é 日本": "ok é 日本", "a\x1b[2Jb\n": `a\x1b[2Jb\n`, "\u202e": `\u202e`} {
		if got := printable(in); got != want {
			t.Errorf("%q is printed as %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"": "", "on": "on", "=1+1": "'=1+1", "-1.5": "-1.5", "+3e5": "+3e5", "-A1": "'-A1", "@x": "'@x", "\t=1": "'\t=1", "-Infinity": "-Infinity",
	} {
		if got := safeCell(in); got != want {
			t.Errorf("%q becomes the cell %q, want %q", in, got, want)
		}
	}
}
