package compile

import (
	"testing"

	"varve.dev/varve/api/v1alpha1"
)

func TestTheFingerprintChangesWithTheCapturedChannels(t *testing.T) {
	spec := func(names ...string) v1alpha1.ArchiveGroupSpec {
		return v1alpha1.ArchiveGroupSpec{Channels: channels(names...)}
	}
	of := func(groups ...v1alpha1.ArchiveGroup) uint64 {
		return Compile(groups, nil, Archive{Shards: 8}, now).Groups["ns/a"].Fingerprint
	}
	scan := spec("X", "Y")
	scan.Sampling = &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: new(v1alpha1.Duration("1s"))}
	short := spec("X", "Y")
	short.Retention = retention("1d")
	elsewhere := spec("X", "Y")
	elsewhere.ShardBy = &v1alpha1.ShardBy{Group: &v1alpha1.ShardByGroup{}}

	before := of(group("a", 0, spec("X", "Y")), group("b", 1, spec("Z")))
	if of(group("a", 0, spec("Y", "X")), group("b", 1, spec("Z"))) != before {
		t.Error("the order of PVs changes the fingerprint")
	}
	if of(group("a", 0, spec("X", "Y")), group("c", 2, spec("V"))) != before {
		t.Error("a group without common PVs changes the fingerprint")
	}
	for name, changed := range map[string]uint64{
		"a PV more":                     of(group("a", 0, spec("X", "Y", "Z"))),
		"a PV less":                     of(group("a", 0, spec("X"))),
		"other settings":                of(group("a", 0, scan)),
		"another retention":             of(group("a", 0, short)),
		"other shards":                  of(group("a", 0, elsewhere)),
		"settings of a group in common": of(group("a", 0, scan), group("b", 1, spec("X"))),
	} {
		if changed == before {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}
