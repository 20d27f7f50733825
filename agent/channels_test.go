package agent

import (
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/capture"
)

// listsOf returns lists by name, each given as "name: PV PV".
func listsOf(texts ...string) lists {
	out := lists{}
	for _, text := range texts {
		name, pvs, _ := strings.Cut(text, ":")
		l := &list{}
		for _, pv := range strings.Fields(pvs) {
			l.channels = append(l.channels, capture.Channel{PV: pv, Group: name})
		}
		out[name] = l
	}
	return out
}

func TestUnreadableListsDoNotEndCapture(t *testing.T) {
	none := map[string]string{}
	lost := map[string]string{"new": "gone"}
	for name, tc := range map[string]struct {
		current lists
		p       progress
		want    string // PV@list
	}{
		"a first list":                                  {nil, progress{lists: listsOf("1:A B"), broken: none}, "A@1 B@1"},
		"an edit":                                       {listsOf("1:A B"), progress{lists: listsOf("2:B C"), broken: none}, "B@2 C@2"},
		"several lists":                                 {nil, progress{lists: listsOf("1:A", "2:B"), broken: none}, "A@1 B@2"},
		"an order to capture nothing":                   {listsOf("1:A B"), progress{lists: lists{}, broken: none}, ""},
		"a list is not read yet":                        {listsOf("1:A B"), progress{lists: lists{}, broken: none, wait: true}, "A@1 B@1"},
		"the only list is unreadable":                   {listsOf("1:A B"), progress{lists: lists{}, broken: lost}, "A@1 B@1"},
		"one of two lists is unreadable":                {listsOf("1:A B", "2:C"), progress{lists: listsOf("3:B D"), broken: lost}, "B@3 D@3 A@1 C@2"},
		"one of two lists of a new shard is unreadable": {nil, progress{lists: listsOf("3:B D"), broken: lost}, "B@3 D@3"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, ch := range union(tc.p.next(tc.current), tc.p.lists) {
				got = append(got, ch.PV+"@"+ch.Group)
			}
			if !slices.Equal(got, strings.Fields(tc.want)) {
				t.Errorf("the engine captures %v, want %s", got, tc.want)
			}
		})
	}
}
