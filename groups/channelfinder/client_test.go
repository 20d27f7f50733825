package channelfinder

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client with small pages.
func client(t *testing.T) *Client {
	t.Helper()
	c := NewClient()
	c.pageSize = 10
	t.Cleanup(c.Close)
	return c
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("SR:%06d", i))
	}
	return names
}

func TestQueriesAreSentAsWritten(t *testing.T) {
	s := serve(t, append(tagged("archive", "SR:A", "SR:B", "BO:A", "SR:C+1"), tagged("", "SR:D")...)...)
	for query, want := range map[string][]string{
		"~tag=archive":              {"BO:A", "SR:A", "SR:B", "SR:C+1"},
		"~tag=archive&~name=SR*":    {"SR:A", "SR:B", "SR:C+1"},
		"?~name=SR%2A&~tag=archive": {"SR:A", "SR:B", "SR:C+1"},
		"~name=SR:C+*":              {"SR:C+1"},
		"~name=BO:*;SR:D":           {"BO:A", "SR:D"},
		"~name=SR*&~name=*A":        {"SR:A"},
		"~name=*&~size=2":           {"BO:A", "SR:A"},
		"~name=*&~size=2&~from=3":   {"SR:C+1", "SR:D"},
	} {
		for _, url := range []string{s.url(), s.url() + "/", s.url() + "/resources/channels"} {
			got, err := client(t).Names(t.Context(), url, query)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s at %s: %q, %v; want %q", query, url, got, err, want)
			}
		}
	}
}

func TestAllPagesAreRead(t *testing.T) {
	for _, n := range []int{1, 9, 10, 11, 20, 95} {
		s := serve(t, tagged("archive", numbered(n)...)...)
		for _, s.noScroll = range []bool{false, true} {
			got, err := client(t).Names(t.Context(), s.url(), "~tag=archive")
			if err != nil || !slices.Equal(got, numbered(n)) {
				t.Errorf("%d channels: %d, %v", n, len(got), err)
			}
		}
	}
}

// TestMoreChannelsThanAServiceFindsAtOnce checks that a client reads more than 10,000
// channels. A service returns at most 10,000 channels at once, and rejects larger offsets.
func TestMoreChannelsThanAServiceFindsAtOnce(t *testing.T) {
	s := serve(t, tagged("archive", numbered(23_000)...)...)
	c := client(t)
	c.pageSize = pageSize
	got, err := c.Names(t.Context(), s.url(), "~tag=archive")
	if err != nil || len(got) != 23_000 {
		t.Errorf("%d channels: %v", len(got), err)
	}
	if want := 5; len(s.requests) != want {
		t.Errorf("%d requests, want %d", len(s.requests), want)
	}
	s.noScroll = true
	if _, err = c.Names(t.Context(), s.url(), "~tag=archive"); err == nil || !strings.Contains(err.Error(), "has no scroll resource, and refuses the channels after number 10000: HTTP 400") {
		t.Errorf("a service without the scroll resource: %v", err)
	}
}

// TestErrorsNameTheCause checks that errors name the URL, the query and the cause, and that
// their text does not vary.
func TestErrorsNameTheCause(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, tc := range map[string]struct {
		handler func(http.ResponseWriter, *http.Request)
		want    string
	}{
		"500": {func(w http.ResponseWriter, _ *http.Request) { fail(w, 500, "Search failed for: {~tag=[a]}") }, "HTTP 500 Internal Server Error"},
		"503": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>now 14:00:01</html>", http.StatusServiceUnavailable)
		}, "HTTP 503 Service Unavailable"},
		"401":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "HTTP 401 Unauthorized"},
		"login":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") }, "is not JSON, by its content type"},
		"garbage":  {func(w http.ResponseWriter, _ *http.Request) { answer(w, "SR:A") }, "not a list of channels"},
		"object":   {func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]int{"a": 1}) }, "it has no channels"},
		"no names": {func(w http.ResponseWriter, _ *http.Request) { answer(w, []channel{{}}) }, "a channel has no name"},
		"nothing":  {func(w http.ResponseWriter, _ *http.Request) { answer(w, []channel{}) }, "the query finds no channels"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `[{"name":"SR:A"},{"name":"SR:B"}`)
		}, "unexpected EOF"},
		"slow": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}, "no answer within 200ms"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `[{"name":"SR:A","owner":%q}`, strings.Repeat("x", 200_000))
		}, "more than 100000 bytes"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.example/ChannelFinder", http.StatusFound)
		}, "it redirects to another host"},
		"in circles": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, "more than 3 times"},
		"endless":    {func(w http.ResponseWriter, _ *http.Request) { answer(w, tagged("a", numbered(10)...)) }, "repeats a page"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(tc.handler))
			defer server.Close()
			c := client(t)
			c.timeout, c.maxPage = 5*time.Second, 100_000
			if name == "slow" {
				c.timeout = 200 * time.Millisecond
			}
			url := strings.Replace(server.URL, "http://", "http://varve:secret@", 1)
			_, err := c.Names(t.Context(), url, "~tag=a")
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range []string{"querying ChannelFinder http://varve:xxxxx@", " for ~tag=a: ", tc.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want it to contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "14:00") {
				t.Errorf("the error contains a time: %v", err)
			}
		})
	}
}

func TestErrorsOfUnreachableServices(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, tc := range []struct{ url, want string }{
		{server.URL, "connection refused"},
		{"http://varve:secret@:nowhere", "parsing the URL of ChannelFinder"},
		{"ftp://host", "must have the form http://HOST"},
	} {
		_, err := client(t).Names(t.Context(), tc.url, "~tag=a")
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want an error that contains %q", tc.url, err, tc.want)
		}
	}
}

func FuzzReadNames(f *testing.F) {
	for _, text := range []string{
		`[]`, `[{"name":"SR:A","owner":"o","properties":[{"name":"p","value":"v"}],"tags":[]}]`,
		`{"id":"SR:A","channels":[{"name":"SR:A"}]}`, `{"id":null,"channels":[]}`, `{"channels"`, `[{"name":1}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := readNames(strings.NewReader(text))
		if err == nil && slices.Contains(names, "") {
			t.Error("a name is empty")
		}
	})
}
