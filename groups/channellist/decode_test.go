package channellist

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/capture"
)

// list returns a list with one channel and the given class.
func list(class string) []byte {
	var body []byte
	body = append(body, 1)
	body = appendBytes(body, class)
	body = append(body, 1)
	body = appendBytes(body, "ops/a")
	body = append(body, 1, 0)
	body = appendBytes(body, "SR:X")
	return compress(append(body, 0, 0), version)
}

// TestUnknownSettingsAreRejected checks that an engine does not ignore settings. It rejects a
// list with unknown settings, and continues with its current list.
func TestUnknownSettingsAreRejected(t *testing.T) {
	const good = `"clock":"Source","onClock":"Restamp"`
	old, err := Decode(list(`{"mode":"Monitor",` + good + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := old[0].Settings.Provider; p != capture.CA {
		t.Errorf("the default provider of a list is %v", p)
	}
	for class, want := range map[string]string{
		`{"mode":"Monitor","codec":"X",` + good + `}`:                                              `unknown field "codec"`,
		`{"mode":"Monitor","provider":"TCP",` + good + `}`:                                         `provider "TCP" is unknown`,
		`{"mode":"Monitor","fields":["a,b"],` + good + `}`:                                         `field "a,b" is not a valid name`,
		`{"mode":"Monitor","properties":["B","A"],` + good + `}`:                                   `property "A" is not sorted`,
		`{"mode":"Dream",` + good + `}`:                                                            `mode "Dream" is unknown`,
		`{"mode":"Monitor"}`:                                                                       `clock "" is unknown`,
		`{"mode":"Monitor","events":["Big"],` + good + `}`:                                         `event "Big" is unknown`,
		`{"mode":"Scan",` + good + `}`:                                                             "no period",
		`{"mode":"Scan","period":"-1s",` + good + `}`:                                              "not positive",
		`{"mode":"Monitor","maxRate":-1,` + good + `}`:                                             "negative",
		`{"mode":"Monitor","heartbeat":"-1s",` + good + `}`:                                        "not positive",
		`{"mode":"Monitor","enabledBy":"SR:BEAM != 0",` + good + `}`:                               "is not a name with its provider",
		`{"mode":"Monitor","enabledBy":"ca://SR:BEAM",` + good + `}`:                               "is not a condition",
		`{"mode":"Monitor","raw":"3d",` + good + `}`:                                               `tier "3d" is unknown`,
		`{"mode":"Monitor","rollups":["10s/3d"],` + good + `}`:                                     `tier "3d" is unknown`,
		`{"mode":"Monitor","rollups":["1us"],` + good + `}`:                                        "too fine",
		`{"mode":"Monitor","rollups":["5s","5s"],` + good + `}`:                                    "not sorted",
		`{"mode":"Monitor","rollups":["1s","2s","3s","4s","5s","6s","7s","8s","9s"],` + good + `}`: "9 rollups",
		`{"mode":"Monitor",` + good + `} {}`:                                                       "after the object",
		`[]`:                                                                                       "array",
	} {
		if _, err := Decode(list(class)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to contain %q", class, err, want)
		}
	}
}

func TestCorruptListsAreRejected(t *testing.T) {
	good := Encode(machineChannels(100))[0].Data
	newer := slices.Clone(good)
	newer[3] += 2
	big := encoder().EncodeAll(make([]byte, 64<<20), nil)
	twice := encoder().EncodeAll(make([]byte, maxBody), nil)
	body, _, err := decompress(good)
	if err != nil {
		t.Fatal(err)
	}
	channel := capture.Channel{PV: "A", Group: "ops/a", Settings: &monitor}
	twoOf := newPart()
	twoOf.add(&channel)
	twoOf.add(&channel)
	space := newPart()
	space.add(&capture.Channel{PV: "A B", Group: "ops/a", Settings: &monitor})
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":                                {nil, "does not start like a channel list"},
		"something else":                         {[]byte("SR:X\nSR:Y\n"), "does not start like a channel list"},
		"a newer version":                        {newer, "version 3, but this program reads versions 1 and 2"},
		"a bomb":                                 {append([]byte("VCL\x01"), big...), "decompress"},
		"two frames that decompress to too much": {append([]byte("VCL\x01"), append(twice, twice...)...), "decompress"},
		"bytes after the end":                    {compress(append(slices.Clone(body), 0), version), "1 bytes after the end"},
		"a PV twice":                             {compress(twoOf.body(), version), "not sorted"},
		"a name with a space":                    {compress(space.body(), version), "space"},
		"counts without end":                     {compress(binary.AppendUvarint(nil, 1<<62), version), "truncated"},
	} {
		if _, err := Decode(tc.data); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want it to contain %q", name, err, tc.want)
		}
	}
}

func TestTruncatedListsAreRejected(t *testing.T) {
	data := Encode(machineChannels(50))[0].Data
	for n := range data {
		if _, err := Decode(data[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes decode as a list", n, len(data))
		}
	}
	body, _, err := decompress(data)
	if err != nil {
		t.Fatal(err)
	}
	for n := range body {
		if _, err := decodeBody(body[:n], version); err == nil {
			t.Fatalf("the first %d of %d bytes decode as a body", n, len(body))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(machineChannels(20))[0].Data)
	f.Add(Encode(namedChannels(20))[0].Data)
	f.Add(list("null"))
	f.Add([]byte("VCL\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		channels, err := Decode(data)
		if err != nil {
			return
		}
		again := decodeAll(t, Encode(channels))
		if len(again) != len(channels) {
			t.Errorf("encoding %d decoded channels again gives %d", len(channels), len(again))
		}
	})
}

// FuzzDecodeBody fuzzes the body without the compression, because the checksum of the
// compression rejects most inputs of FuzzDecode.
func FuzzDecodeBody(f *testing.F) {
	body, _, err := decompress(Encode(machineChannels(20))[0].Data)
	if err != nil {
		f.Fatal(err)
	}
	named, _, err := decompress(Encode(namedChannels(20))[0].Data)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, version)
	f.Add(named, versionNames)
	f.Add([]byte{0, 0, 0}, version)
	f.Fuzz(func(t *testing.T, body []byte, version byte) {
		channels, err := decodeBody(body, version)
		if err != nil {
			return
		}
		p := newPart()
		for i := range channels {
			p.add(&channels[i])
		}
		again, err := decodeBody(p.body(), p.version())
		if diff := cmp.Diff(channels, again); err != nil || diff != "" {
			t.Errorf("channels differ when encoded again: %v %s", err, diff)
		}
	})
}
