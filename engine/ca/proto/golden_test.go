package proto

import (
	"bufio"
	"encoding/hex"
	"math"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
)

// golden returns the messages that caproto encoded, by name.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	f, err := os.Open("testdata/caproto.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]byte{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, digits, ok := strings.Cut(sc.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		if out[name], err = hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestMessagesAsCaprotoEncodesThem(t *testing.T) {
	msgs := golden(t)
	for name, got := range map[string][]byte{
		"SearchRequest":         AppendSearch(nil, "SR01:PRES", 7, DontReply),
		"Version":               AppendVersion(nil, 1),
		"CreateChan":            AppendCreateChan(nil, "SR01:PRES", 7),
		"EventAdd":              AppendEventAdd(nil, Double.In(TIME), 0, 3, 9, 6),
		"EventCancel":           AppendEventCancel(nil, Double.In(TIME), 0, 3, 9),
		"ReadNotify":            AppendReadNotify(nil, Double.In(CTRL), 1, 3, 5),
		"HostName":              AppendHostName(nil, "host"),
		"ClientName":            AppendClientName(nil, "user"),
		"ClearChannel":          AppendClearChannel(nil, 3, 7),
		"Echo":                  AppendEcho(nil),
		"SearchResponse":        AppendSearchReply(nil, netip.MustParseAddrPort("127.0.0.2:5066"), 7),
		"NotFoundResponse":      AppendNotFound(nil, 7),
		"CreateChanResponse":    AppendCreateChanReply(nil, Double, 1, 7, 3),
		"AccessRightsResponse":  AppendAccessRights(nil, 7, RightRead|RightWrite),
		"CreateChFailResponse":  AppendCreateChFail(nil, 7),
		"ServerDisconnResponse": AppendServerDisconn(nil, 7),
		"Beacon":                AppendBeacon(nil, Beacon{Server: netip.MustParseAddrPort("127.0.0.3:5064"), ID: 1}),
	} {
		want, ok := msgs[name]
		if !ok {
			t.Errorf("%s is not in the golden file", name)
		}
		if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(got)); diff != "" {
			t.Errorf("%s (-caproto +ours):\n%s", name, diff)
		}
	}
}

// valueCases are the values of the events in the golden file.
var valueCases = []struct {
	golden string
	native DBR
	word   uint64
	bytes  []byte
}{
	{"14", String, 0, []byte("abc")},
	{"15", Short, ^uint64(1), nil},
	{"16", Float, uint64(math.Float32bits(1.5)), nil},
	{"17", Enum, 3, nil},
	{"18", Char, 200, nil},
	{"19", Long, ^uint64(69999), nil},
	{"20", Double, math.Float64bits(2.5), nil},
}

func TestTimeValuesAsCaprotoEncodesThem(t *testing.T) {
	msgs := golden(t)
	for _, c := range valueCases {
		want := sample.Sample{
			Time: (EpicsEpoch+1000)*1e9 + 500, Tag: sample.MakeTag(sample.Major, 4), Word: c.word, Bytes: c.bytes,
		}
		msg := msgs["Event-"+c.golden]
		typ := c.native.In(TIME)
		if got := AppendEvent(nil, typ, false, &want, nil, 9); !cmp.Equal(msg, got) {
			t.Errorf("%v is encoded as\n%x, caproto encodes it as\n%x", typ, got, msg)
		}
		var h Header
		payload, _, err := ReadFrame(msg, &h, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var got sample.Sample
		if _, err := DecodeTime(&got, DBR(h.Type), h.Count, false, payload, nil); err != nil {
			t.Errorf("decoding %v: %v", typ, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v is decoded as (-want +got):\n%s", typ, diff)
		}
	}
}

func TestMetadataAsCaprotoEncodesIt(t *testing.T) {
	nan := math.NaN()
	numeric := sample.Metadata{
		Units: "mA", DisplayLow: 1, DisplayHigh: 8, WarnLow: 3, WarnHigh: 6, AlarmLow: 2, AlarmHigh: 7,
		ControlLow: 0, ControlHigh: 9,
	}
	withPrecision := numeric
	withPrecision.Precision = 3
	enum := sample.Metadata{
		DisplayLow: nan, DisplayHigh: nan, WarnLow: nan, WarnHigh: nan, AlarmLow: nan, AlarmHigh: nan,
		ControlLow: nan, ControlHigh: nan, Labels: []string{"Off", "On"},
	}
	msgs := golden(t)
	for _, c := range []struct {
		golden string
		native DBR
		word   uint64
		want   sample.Metadata
	}{
		{"29", Short, ^uint64(1), numeric},
		{"30", Float, uint64(math.Float32bits(1.5)), withPrecision},
		{"31", Enum, 1, enum},
		{"32", Char, 200, numeric},
		{"33", Long, ^uint64(69999), numeric},
		{"34", Double, math.Float64bits(2.5), withPrecision},
	} {
		msg := msgs["Event-"+c.golden]
		typ := c.native.In(CTRL)
		s := sample.Sample{Tag: sample.MakeTag(sample.Major, 4), Word: c.word}
		if got := AppendEvent(nil, typ, false, &s, &c.want, 9); !cmp.Equal(msg, got) {
			t.Errorf("%v is encoded as\n%x, caproto encodes it as\n%x", typ, got, msg)
		}
		var got sample.Metadata
		if err := DecodeMetadata(&got, typ, msg[HeaderSize:]); err != nil {
			t.Errorf("decoding %v: %v", typ, err)
		}
		if diff := cmp.Diff(c.want, got, equateNaNs); diff != "" {
			t.Errorf("%v (-want +got):\n%s", typ, diff)
		}
	}
}

var equateNaNs = cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })
