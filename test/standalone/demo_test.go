package standalone

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// TestDemo checks that the demo archives PVs, that commands can read them, and that the demo
// prints a sum that accounts for every sample.
func TestDemo(t *testing.T) {
	p := program.Launch(t, nil, "demo", "--seconds", "6", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	browser := regexp.MustCompile(`in a browser\s+(\S+)/\n`)
	var url string
	program.Eventually(t, "the demo prints its address", func() bool {
		if m := browser.FindStringSubmatch(p.Out.String()); m != nil {
			url = m[1]
		}
		return url != ""
	})
	a := &program.Archiver{Process: p, Client: archive.NewClient(url, program.Patience)}
	if hint := "/varve status --url " + url + "\n"; !strings.Contains(p.Out.String(), hint) {
		t.Errorf("the demo does not print the hint %q:\n%s", hint, p.Out.String())
	}
	program.Eventually(t, "samples are stored", func() bool { return a.Summary().Stored > 100 })

	expect(t, []string{"status", "--url", url},
		`GROUP +CHANNELS +CONNECTED +RATE/s +RECEIVED +STORED +DROPPED\n`, `default/sim-scan +20 +20 +`, `default/sim-waveforms +5 +5 +`, `all +\d+ +\d+ `)
	expect(t, []string{"status", "--url", url, "SIM:NOISE:*"}, `SIM:NOISE:0000 +connected +float64 +Monitor .*(deadband|rate) \d+`)
	expect(t, []string{"get", "SIM:RAMP:0000", "--from", "-1m", "--url", url}, `  -- connected 127\.0\.0\.1:`, `\n\d+ samples\n$`)
	expect(t, []string{"get", "SIM:ENUM:0000", "--from", "-1m", "--format", "csv", "--url", url}, `^pv,time,value,label,units,severity,status\r\nSIM:ENUM:0000,20\d\d-.*,NO_ALARM,NO_ALARM\r\n`)
	expect(t, []string{"get", "SIM:RAMP:0000", "--from", "-1m", "--format", "json", "--url", url}, `^\{"pv":"SIM:RAMP:0000"`)

	if code := p.Wait(); code != 0 {
		t.Errorf("the demo exits with %d", code)
	}
	checkSum(t, p.Out.String())
}

// expect runs a varve command. The command must succeed, and its output must match all
// patterns.
func expect(t *testing.T, args []string, patterns ...string) {
	t.Helper()
	p := program.Launch(t, nil, args...)
	code := p.Wait()
	for _, pattern := range patterns {
		if code != 0 || !regexp.MustCompile(pattern).MatchString(p.Out.String()) {
			t.Errorf("varve %s exits with %d; its output does not match %s:\n%.2000s%s", strings.Join(args, " "), code, pattern, p.Out.String(), p.Log.String())
		}
	}
}

// checkSum checks that the numbers in the demo's final summary add up.
func checkSum(t *testing.T, out string) {
	t.Helper()
	_, summary, _ := strings.Cut(out, "\nreceived")
	t.Logf("received%s", summary)
	parts := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) +(\d+)`).FindAllStringSubmatch("received"+summary, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		parts[m[1]] += n
	}
	if parts["received"] < 1000 || parts["received"] != parts["stored"]+parts["dropped"] || parts["pending"] != 0 {
		t.Errorf("the demo's summary does not add up: %v", parts)
	}
	if !strings.Contains(out, "every sample is accounted for") || parts["sum"] != parts["received"] {
		t.Error("the demo reports that samples are not accounted for")
	}
}
