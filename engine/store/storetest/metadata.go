package storetest

import (
	"fmt"
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func (s *suite) metadata(t *testing.T, pv string, at int64) []store.PVMetadata {
	t.Helper()
	m, found, err := s.MetadataAt(t.Context(), pv, at)
	must(t, err)
	if !found {
		return nil
	}
	return []store.PVMetadata{m}
}

func testMetadata(t *testing.T, s *suite) {
	pv := s.pv("a")
	equal(t, "the metadata of an unknown PV", len(s.metadata(t, pv, 0)), 0)
	var all []store.PVMetadata
	for _, at := range []int64{nanos(1950), -1, 10, nanos(2200)} {
		all = append(all, store.PVMetadata{PV: pv, Time: at, Metadata: sample.Metadata{Units: fmt.Sprint(at)}})
	}
	for _, i := range []int{2, 0, 3, 1, 2} {
		must(t, s.PutMetadata(t.Context(), all[i]))
	}
	must(t, s.PutMetadata(t.Context(), store.PVMetadata{PV: s.pv("b"), Time: 11}))
	for _, test := range []struct {
		at   int64
		want int
	}{
		{math.MinInt64, 0}, {all[0].Time - 1, 0}, {all[0].Time, 0}, {-2, 0}, {-1, 1}, {9, 1}, {10, 2}, {11, 2},
		{all[3].Time, 3}, {math.MaxInt64, 3},
	} {
		equal(t, fmt.Sprint("metadata at ", test.at), s.metadata(t, pv, test.at), all[test.want:test.want+1])
	}
}

func testMetadataFields(t *testing.T, s *suite) {
	m := store.PVMetadata{PV: s.pv("a"), Time: 5, Metadata: sample.Metadata{
		Units: "µm", Precision: 3, Labels: []string{"Off", "", "On"}, Type: sample.Enum.Array(), Count: 100, Host: "ioc1:5064",
		Properties: []sample.Property{{Name: "DESC", Value: "Ø of the beam"}, {Name: "HIHI", Value: ""}, {Name: "SCAN", Value: ".1 second"}},
	}}
	m.SetLimits([8]float64{1, 2, math.NaN(), math.Inf(1), -4, math.Inf(-1), 0, math.NaN()})
	must(t, s.PutMetadata(t.Context(), m))
	equal(t, "metadata", s.metadata(t, m.PV, 5), []store.PVMetadata{m})

	m.Labels, m.Units, m.Precision, m.Properties = nil, "", -1, nil
	must(t, s.PutMetadata(t.Context(), m))
	equal(t, "metadata written again", s.metadata(t, m.PV, 5), []store.PVMetadata{m})

	// Units come from IOCs. Invalid UTF-8 must not prevent their write.
	m.Time, m.Units, m.Labels, m.Properties = 6, "\xb0C", []string{"\xff"}, []sample.Property{{Name: "DESC", Value: "\xb5"}}
	must(t, s.PutMetadata(t.Context(), m))
	equal(t, "metadata with text that is not UTF-8", len(s.metadata(t, m.PV, 6)), 1)
}

func testMetadataHistory(t *testing.T, s *suite) {
	pv := s.pv("a")
	history := func(from, to int64) []store.PVMetadata { return collect(t, s.Metadata(t.Context(), pv, from, to)) }
	equal(t, "the history of an unknown PV", len(history(math.MinInt64, math.MaxInt64)), 0)
	var all []store.PVMetadata
	for i := range int64(250) {
		all = append(all, store.PVMetadata{PV: pv, Time: i*10 - 100, Metadata: sample.Metadata{
			Precision: int(i), Properties: []sample.Property{{Name: "DESC", Value: fmt.Sprint(i)}},
		}})
		must(t, s.PutMetadata(t.Context(), all[i]))
	}
	must(t, s.PutMetadata(t.Context(), store.PVMetadata{PV: s.pv("b"), Time: 11}))
	equal(t, "the whole history", history(math.MinInt64, math.MaxInt64), all)
	equal(t, "the history in [-95, 20]", history(-95, 20), all[1:13])
	equal(t, "the history in [21, 29]", len(history(21, 29)), 0)
	for m, err := range s.Metadata(t.Context(), pv, 0, math.MaxInt64) {
		must(t, err)
		equal(t, "the first entry", m, all[10])
		break
	}
}
