package through

import (
	"net/http"
	"strings"
	"testing"

	"varve.dev/varve/engine/destination"
)

func TestJSONAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"json:http://archive:9812/archive-access/api/1.0;key=7": "http://archive:9812/archive-access/api/1.0 7",
		"json:http://archive/":      "http://archive 1",
		"json:https://archive/api/": "https://archive/api 1",
	} {
		if a, err := ParseJSON(text); err != nil || !a.JSON || a.URL.String()+" "+string(rune('0'+a.Key)) != want {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"http://a/api": "begin with the scheme json", "json:http://a/api;key=x": "key=1", "json:http://a/api;k=1": "key=1", "json:http://a/api;key=-1": "key=1",
		"json:ftp://a/api": "http://", "json:http://u:p@a/api": "no user name", "json:http://a/api?x=1": "no parameters", "json:": "http://",
	} {
		if a, err := ParseJSON(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, a, err, want)
		}
	}
}

// TestRefusedAddressesGetNoRequest reads through to a server on the machine itself, which is not allowed.
func TestRefusedAddressesGetNoRequest(t *testing.T) {
	p := newPeer(t, Config{Restrict: &destination.Rules{Process: "the archive", Advice: "give another address"}}, func(http.ResponseWriter, *http.Request) {
		t.Error("the server gets a request")
	})
	if got, err := p.read(t.Context()); err == nil || !strings.Contains(err.Error(), "the machine of the archive itself") {
		t.Errorf("read %q, %v", got, err)
	}
	if n := p.metric(t, "varve_read_through_errors_total", "refused"); n != 1 {
		t.Errorf("%v errors are counted as refused", n)
	}
}
