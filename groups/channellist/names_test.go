package channellist

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/capture"
)

// namedChannels returns channels of which every seventh has other names.
func namedChannels(n int) []capture.Channel {
	channels := machineChannels(n)
	for i := 3; i < n; i += 7 {
		channels[i].Names = &capture.Names{Former: []string{fmt.Sprint("OLD:", i), fmt.Sprint("OLDER:", i)}}
		if i%2 == 0 {
			channels[i].Names.Aliases = []string{fmt.Sprint("ALIAS:", i)}
		}
	}
	return channels
}

func TestOtherNamesAreEncoded(t *testing.T) {
	channels := namedChannels(1000)
	if diff := cmp.Diff(channels, decodeAll(t, Encode(channels))); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyListsWithOtherNamesHaveTheNewVersion makes sure that lists of archives that do not use other names keep their
// bytes, so that engines of the release before read them.
func TestOnlyListsWithOtherNamesHaveTheNewVersion(t *testing.T) {
	for n, want := range map[int]byte{3: version, 4: versionNames} {
		if got := Encode(namedChannels(n))[0].Data[len(magic)]; got != want {
			t.Errorf("a list of %d channels has version %d, want %d", n, got, want)
		}
	}
}

// TestBytesOfOtherNames checks the exact bytes of a body of version 2.
func TestBytesOfOtherNames(t *testing.T) {
	list := Encode([]capture.Channel{{PV: "B", Group: "g", Names: &capture.Names{Former: []string{"A"}, Aliases: []string{"C", "D"}}}})[0]
	body, v, err := decompress(list.Data)
	want := []byte("\x01\x04null" + "\x01\x01g" + "\x01" + "\x00\x01B" + "\x00" + "\x00" + "\x01" + "\x00" + "\x01\x01A" + "\x02\x01C\x01D")
	if err != nil || v != versionNames || !bytes.Equal(body, want) {
		t.Errorf("version %d, %v:\n%q, want\n%q", v, err, body, want)
	}
}

func TestLongOtherNamesFit(t *testing.T) {
	var channels []capture.Channel
	for i := range 500 {
		n := &capture.Names{}
		for k := range maxNames {
			n.Former = append(n.Former, fmt.Sprintf("%03d%02d%s", i, k, strings.Repeat("f", 251)))
			n.Aliases = append(n.Aliases, fmt.Sprintf("%03d%02d%s", i, k, strings.Repeat("a", 251)))
		}
		channels = append(channels, capture.Channel{PV: fmt.Sprintf("%03d", i), Group: "g", Names: n})
	}
	lists := Encode(channels)
	for _, l := range lists {
		if body, _, err := decompress(l.Data); err != nil || len(body) > maxPart || len(l.Data) > MaxSize {
			t.Errorf("a body has %d bytes: %v", len(body), err)
		}
	}
	if diff := cmp.Diff(channels, decodeAll(t, lists)); diff != "" {
		t.Error(diff)
	}
}

func TestCorruptOtherNamesAreRejected(t *testing.T) {
	head := "\x01\x04null" + "\x01\x01g" + "\x01" + "\x00\x01B" + "\x00" + "\x00"
	for name, tc := range map[string]struct{ body, want string }{
		"none":               {"\x00", "no channel has other names"},
		"no list of names":   {"", "truncated"},
		"an unknown channel": {"\x01\x01\x01\x01A\x00", "not in the list"},
		"no names":           {"\x01\x00\x00\x00", "no other names"},
		"a name with space":  {"\x01\x00\x01\x02A \x00", "space"},
		"too many names":     {"\x01\x00\x11" + strings.Repeat("\x01A", 17) + "\x00", "at most 16"},
		"more than the end":  {"\x01\x00\x01\x01A\x00\x00", "after the end"},
		"cut":                {"\x01\x00\x01\x01", "truncated"},
	} {
		if _, err := Decode(compress([]byte(head+tc.body), versionNames)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, tc.want)
		}
	}
	body, v, err := decompress(Encode(namedChannels(20))[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	for n := range body {
		if _, err := decodeBody(slices.Clone(body[:n]), v); err == nil {
			t.Errorf("a body that is cut at byte %d of %d is accepted", n, len(body))
		}
	}
}
