package serve

import (
	"net/http"
	"reflect"
	"slices"
)

// patterns returns the patterns of all routes of a mux, which has no method for it.
func patterns(mux *http.ServeMux) []string {
	found := map[string]bool{}
	index := reflect.ValueOf(mux).Elem().FieldByName("index")
	add := func(list reflect.Value) {
		for i := range list.Len() {
			found[list.Index(i).Elem().FieldByName("str").String()] = true
		}
	}
	for all := index.FieldByName("segments").MapRange(); all.Next(); {
		add(all.Value())
	}
	add(index.FieldByName("multis"))
	var sorted []string
	for p := range found {
		sorted = append(sorted, p)
	}
	slices.Sort(sorted)
	return sorted
}
