package manifest

import (
	"fmt"
	"strings"
	"testing"

	"varve.dev/varve/groups/manifest/manifesttest"
)

// wrap returns a manifest with the given body of a spec, in flow style.
func wrap(spec string) string {
	return fmt.Sprintf(`
apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: x}
spec: {archiverRef: {name: main}, %s}
`, spec)
}

func TestValidSpecsAreAccepted(t *testing.T) {
	for _, c := range manifesttest.Groups() {
		if c.Want != "" {
			continue
		}
		found, errs := parse("f.yaml", []byte(c.Manifest))
		if len(found.groups) != 1 || len(errs) != 0 {
			t.Errorf("%s: %v", c.Manifest, errs)
		}
	}
}

// TestInvalidSpecsAreRejected checks that each spec is rejected with one message that names
// the field and the reason.
func TestInvalidSpecsAreRejected(t *testing.T) {
	for _, c := range manifesttest.Groups() {
		if c.Want == "" {
			continue
		}
		found, errs := parse("f.yaml", []byte(c.Manifest))
		if len(found.groups) != 0 || !mention(errs, c.Want) {
			t.Errorf("%s: %v\nwant: %s", c.Manifest, errs, c.Want)
		}
	}
}

// TestAMalformedValueHasOneError checks that a value of a wrong type or form gets one message, which
// says what would be right.
func TestAMalformedValueHasOneError(t *testing.T) {
	for _, c := range manifesttest.Malformed() {
		_, errs := parse("f.yaml", []byte(c.Manifest))
		if len(errs) != 1 || !mention(errs, c.Want) {
			t.Errorf("%s: %d errors: %v\nwant: %s", c.Manifest, len(errs), errs, c.Want)
		}
	}
}

// names returns 16 names of a format, with commas between them.
func names(format string) string {
	var all []string
	for i := range 16 {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}

func mention(errs []error, text string) bool {
	for _, err := range errs {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// TestTheLargestGroupFitsTheCostBudget checks that the largest possible group stays within the
// CEL cost budget of the API server.
func TestTheLargestGroupFitsTheCostBudget(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `{name: "%[1]s%04[2]d", provider: PVA, fields: [`+names("f%02d_"+strings.Repeat("x", 60))+`], properties: [`+names("P%02d"+strings.Repeat("X", 29))+`], `+
			`enabledBy: {pv: "%[1]s", when: "== '%[3]s'"}, `+
			`sampling: {mode: Scan, period: 000000000000010s, events: [Log, Alarm, Value], clock: Source, maxPeriod: 000000000000010s, `+
			`clockLimit: {ahead: 999999999999ms, behind: 999999999999ms, onExceeded: Refuse}}},`, strings.Repeat("x", 252), i, strings.Repeat("x", 123))
	}
	var rules, pauses strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rules, `{match: "%03d%s", enabledBy: {pv: X, when: "== '%s'"}, properties: [`+names("P%02d"+strings.Repeat("X", 29))+`], sampling: {deadband: {unchanged: true, heartbeat: 000000000000010s}, `+
			`clockLimit: {ahead: 999999999999ms, behind: 999999999999ms}}, retention: {raw: 00000000000100y, rollups: [{every: 1s, keep: 100y}, {every: 2s, keep: 100y}, `+
			`{every: 3s, keep: 100y}, {every: 4s, keep: 100y}, {every: 5s, keep: 100y}, {every: 6s, keep: 100y}, {every: 7s, keep: 100y}, {every: 8s}]}},`, i, strings.Repeat("x", 253), strings.Repeat("x", 123))
	}
	for range 32 {
		fmt.Fprintf(&pauses, `{from: 2027-07-01T06:00:00Z, to: 2027-07-02T06:00:00Z, reason: "%s", match: "%s"},`, strings.Repeat("x", 128), strings.Repeat("x", 256))
	}
	people := names("a%02d" + strings.Repeat("x", 253))
	people += ", " + strings.ReplaceAll(people, "a", "b")
	requests := fmt.Sprintf("requests: {users: [%s], groups: [%s], match: %s}", people, people, strings.Repeat("x", 256))
	found, errs := parse("f.yaml", []byte(wrap("channels: ["+b.String()+"], rules: ["+rules.String()+"], pauses: ["+pauses.String()+"], "+requests)))
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	if n := len(found.groups[0].Spec.Channels); n != 1000 {
		t.Errorf("%d channels", n)
	}
	short := strings.Repeat("{name: x}, ", 1001) // the number of channels is checked before their names
	if _, errs := parse("f.yaml", []byte(wrap("channels: ["+short+"]"))); !mention(errs, "spec.channels: Too many: 1001: must have at most 1000 items") {
		t.Error(errs)
	}
}
