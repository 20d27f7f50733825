package manifest

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/varve/api/v1alpha1"
)

const editHead = "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: vac}\n"

// change returns the text of a file after a change of the channels of the group vac.
func change(t *testing.T, text string, edit func(spec *v1alpha1.ArchiveGroupSpec)) (string, error) {
	t.Helper()
	groups := Parse("vac.yaml", []byte(text)).Groups
	for i := range groups {
		if groups[i].Name == "vac" {
			g := groups[i].DeepCopy()
			edit(&g.Spec)
			out, err := SetChannels("vac.yaml", []byte(text), g)
			return string(out), err
		}
	}
	t.Fatalf("there is no group vac in\n%s", text)
	return "", nil
}

func add(pv string) func(*v1alpha1.ArchiveGroupSpec) {
	return func(s *v1alpha1.ArchiveGroupSpec) { s.Channels = append(s.Channels, v1alpha1.Channel{Name: pv}) }
}

func pause(s *v1alpha1.ArchiveGroupSpec) {
	yes := true
	s.Channels[0].Paused = &yes
}

func removeFirst(s *v1alpha1.ArchiveGroupSpec) { s.Channels = s.Channels[1:] }

// TestSetChannelsKeepsTheRest checks that a change of channels keeps comments, the order, and the text around them.
func TestSetChannelsKeepsTheRest(t *testing.T) {
	const before, after = "# vacuum of the ring\n" + editHead + "spec:\n  archiverRef: {name: main}   # the archive\n\n", "\n  # slow\n  sampling: {mode: Scan,   period: 10s}\n"
	for name, c := range map[string]struct {
		channels, want string
		edit           func(*v1alpha1.ArchiveGroupSpec)
	}{
		"add to a list":       {"  channels:\n  - {name: A}   # first\n", "  channels:\n  - {name: A} # first\n  - {name: B}\n", add("B")},
		"add to an indented":  {"  channels:\n    - name: A\n      # why\n      provider: CA\n", "  channels:\n    - name: A\n      # why\n      provider: CA\n    - {name: B}\n", add("B")},
		"add to a flow list":  {"  channels: [{name: A}, {name: C}]\n", "  channels:\n  - {name: A}\n  - {name: C}\n  - {name: B}\n", add("B")},
		"add to an empty one": {"  channels: []\n", "  channels:\n  - {name: B}\n", add("B")},
		"pause":               {"  channels:\n  # pump\n  - {name: A}\n  - {name: B}\n", "  channels:\n  # pump\n  - {name: A, paused: true}\n  - {name: B}\n", pause},
		"pause a block":       {"  channels:\n  - name: A # pump\n    paused: false\n  - {name: B}\n", "  channels:\n  - name: A # pump\n    paused: true\n  - {name: B}\n", pause},
		"remove":              {"  channels:\n  - {name: A}\n  # pump\n  - {name: B}\n", "  channels:\n  # pump\n  - {name: B}\n", removeFirst},
		"remove the last":     {"  channels:\n  - {name: A}\n", "  channels: []\n", removeFirst},
		"quoted names":        {"  channels:\n  - {name: \"A:{x}\"}\n", "  channels:\n  - {name: \"A:{x}\"}\n  - {name: 'B:{x}'}\n", add("B:{x}")},
	} {
		got, err := change(t, before+c.channels+after, c.edit)
		if want := before + c.want + after; err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// TestSetChannelsOfOtherForms changes groups whose text has another form.
func TestSetChannelsOfOtherForms(t *testing.T) {
	other := strings.Replace(editHead, "vac", "rf", 1) + "spec: {archiverRef: {name: main}, channels: [{name: R}]}\n"
	for name, c := range map[string]struct{ text, want string }{
		"no channels":            {editHead + "spec:\n  archiverRef: {name: main}\n# end\n", editHead + "spec:\n  archiverRef: {name: main}\n  channels:\n  - {name: B}\n# end\n"},
		"no line end":            {editHead + "spec:\n  archiverRef: {name: main}", editHead + "spec:\n  archiverRef: {name: main}\n  channels:\n  - {name: B}\n"},
		"several documents":      {other + "---\n" + editHead + "spec:\n  archiverRef: {name: main}\n--- # next\n" + "# nothing\n", other + "---\n" + editHead + "spec:\n  archiverRef: {name: main}\n  channels:\n  - {name: B}\n--- # next\n# nothing\n"},
		"spec before metadata":   {"spec:\n  archiverRef: {name: main}\n\n# who\nmetadata: {name: vac}\napiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\n", "spec:\n  archiverRef: {name: main}\n  channels:\n  - {name: B}\n\n# who\nmetadata: {name: vac}\napiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\n"},
		"the same name, another": {strings.Replace(editHead, "name: vac", "name: vac, namespace: x", 1) + "spec: {archiverRef: {name: main}}\n---\n" + editHead + "spec:\n  archiverRef: {name: main}\n", ""},
	} {
		got, err := change(t, c.text, add("B"))
		if err != nil || c.want != "" && got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
		if groups := Parse("", []byte(got)).Groups; len(groups) != len(Parse("", []byte(c.text)).Groups) {
			t.Errorf("%s: there are %d groups", name, len(groups))
		}
	}
	flow := "{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: vac}, spec: {archiverRef: {name: main}, channels: [{name: A}]}}\n"
	if got, err := change(t, flow, add("B")); err != nil || len(Parse("", []byte(got)).Groups[0].Spec.Channels) != 2 {
		t.Errorf("flow style: %v\n%s", err, got)
	}
}

// TestSetChannelsRefuses checks texts that a program must not edit, and channels that would be invalid.
func TestSetChannelsRefuses(t *testing.T) {
	anchors := editHead + "spec:\n  archiverRef: {name: main}\n  channels:\n  - {name: A, sampling: &slow {mode: Scan, period: 1m}}\n  - {name: C, sampling: *slow}\n"
	if _, err := change(t, anchors, add("B")); !errors.Is(err, ErrByHand) || !strings.Contains(err.Error(), "anchors") {
		t.Errorf("a text with anchors: %v", err)
	}
	text := editHead + "spec:\n  archiverRef: {name: main}\n  channels: [{name: A}]\n"
	if _, err := change(t, text, add("A.VAL")); err == nil || !strings.Contains(err.Error(), "the group would be invalid") {
		t.Errorf("the same PV twice: %v", err)
	}
	g := Parse("", []byte(text)).Groups[0]
	if _, err := SetChannels("vac.json", []byte(text), &g); !errors.Is(err, ErrByHand) {
		t.Errorf("JSON: %v", err)
	}
	if _, err := SetChannels("vac.yaml", []byte(text+"  typo: 1\n"), &g); err == nil || !strings.Contains(err.Error(), "correct it first") {
		t.Errorf("an invalid file: %v", err)
	}
	g.Name = "other"
	if _, err := SetChannels("vac.yaml", []byte(text), &g); err == nil {
		t.Error("a group that the file does not have")
	}
}

// FuzzSetChannels checks that a change of any valid text changes nothing but the channels.
func FuzzSetChannels(f *testing.F) {
	f.Add(editHead+"spec:\n  archiverRef: {name: main}\n  channels:\n  - {name: A} # x\n", "B")
	f.Add("# a\n---\n"+editHead+"spec: {archiverRef: {name: main}, channels: [{name: 'A'}]}\n--- # b\n", "B: x")
	f.Add(editHead+"spec:\n    archiverRef: {name: main}\n    channels:\n\n    # c\n\n    - name: |\n        A\n    - {name: C}\r\n", "B'\"")
	f.Fuzz(func(t *testing.T, text, pv string) {
		before := Parse("f.yaml", []byte(text))
		if before.Err() != nil || len(before.Groups) == 0 {
			return
		}
		g := before.Groups[0].DeepCopy()
		add(pv)(&g.Spec)
		out, err := SetChannels("f.yaml", []byte(text), g)
		if err != nil {
			return
		}
		after := Parse("f.yaml", out)
		if after.Err() != nil || len(after.Groups) != len(before.Groups) || len(after.Groups[0].Spec.Channels) != len(g.Spec.Channels) {
			t.Errorf("%q becomes %q: %v", text, out, after.Err())
		}
	})
}
