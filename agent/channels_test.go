package agent

import (
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/capture"
)

// some returns lists by name, from "name: PV PV" each.
func some(texts ...string) lists {
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

func TestListsThatCanNotBeReadEndNothing(t *testing.T) {
	none := map[string]string{}
	lost := map[string]string{"new": "gone"}
	for name, tc := range map[string]struct {
		so   lists
		p    progress
		want string // PV@list
	}{
		"a first list":                   {nil, progress{lists: some("1:A B"), broken: none}, "A@1 B@1"},
		"an edit":                        {some("1:A B"), progress{lists: some("2:B C"), broken: none}, "B@2 C@2"},
		"several lists":                  {nil, progress{lists: some("1:A", "2:B"), broken: none}, "A@1 B@2"},
		"an order to capture nothing":    {some("1:A B"), progress{lists: lists{}, broken: none}, ""},
		"a list is on its way":           {some("1:A B"), progress{lists: lists{}, broken: none, wait: true}, "A@1 B@1"},
		"the only list can not be read":  {some("1:A B"), progress{lists: lists{}, broken: lost}, "A@1 B@1"},
		"one of two can not be read":     {some("1:A B", "2:C"), progress{lists: some("3:B D"), broken: lost}, "B@3 D@3 A@1 C@2"},
		"a new shard, one of two is bad": {nil, progress{lists: some("3:B D"), broken: lost}, "B@3 D@3"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, ch := range union(tc.p.next(tc.so), tc.p.lists) {
				got = append(got, ch.PV+"@"+ch.Group)
			}
			if !slices.Equal(got, strings.Fields(tc.want)) {
				t.Errorf("captured are %v, want %s", got, tc.want)
			}
		})
	}
}
