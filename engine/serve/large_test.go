package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// camera is a capture source whose large values a test sends.
type camera struct {
	mu    sync.Mutex
	sinks map[string]capture.Sink
}

var types = map[string]sample.Type{"CAM:PROFILE": sample.Float64.Array(), "CAM:IMAGE": sample.Uint8.Array()}

func (c *camera) Subscribe(pv string, _ capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sinks == nil {
		c.sinks = map[string]capture.Sink{}
	}
	c.sinks[pv] = sink
	sink.Connected(capture.ChannelInfo{Type: types[pv], Host: "ioc:5075"})
	return shutter{}
}

func (c *camera) Close() error { return nil }

func (*camera) Reach() capture.Reach { return capture.Reach{} }

func (c *camera) send(pv string, at int64, value []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks[pv].Sample(&sample.Sample{Time: at, Bytes: value})
}

type shutter struct{}

func (shutter) Close() {}

// startEngine runs an engine on a store until the caller calls end.
func startEngine(t *testing.T, st store.Store) (e *engine.Engine, source *camera, end func()) {
	source = &camera{}
	e = engine.New(engine.Options{Store: st, Sources: capture.Sources{source}, Shards: 4, Flush: 10 * time.Millisecond, Memory: 128 << 20, Exclusive: true})
	held := engine.Assignment{}
	for i := range 4 {
		held[i] = engine.Shard{Seal: true}
	}
	for i, pv := range []string{"CAM:PROFILE", "CAM:IMAGE"} {
		held[i] = engine.Shard{Seal: true, Channels: []capture.Channel{{PV: pv, Group: "lab/cameras", Settings: &capture.Settings{}}}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if n := e.Run(ctx); n != 0 {
			t.Errorf("%d samples were not saved at the end", n)
		}
	}()
	e.Apply(held)
	end = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(end)
	return e, source, end
}

// TestLargeValuesOverHTTP checks that large arrays and images can be read unchanged over HTTP
// from memory, from the journal and from blocks. The values are larger than the intended size
// of a journal row, a chunk and a block.
func TestLargeValuesOverHTTP(t *testing.T) { checkLargeValues(t, 40_000, 5<<18) }

// TestLong_LargeValuesOverHTTP is TestLargeValuesOverHTTP with images of 16 MiB, the largest
// that PVs have.
func TestLong_LargeValuesOverHTTP(t *testing.T) { checkLargeValues(t, 200_000, 16<<20) }

// checkLargeValues archives and reads an array of floats and three images of imageBytes each.
func checkLargeValues(t *testing.T, floats, imageBytes int) {
	st := openStore(t)
	e, source, end := startEngine(t, st)
	noise := rand.NewChaCha8([32]byte{1})
	rng := rand.New(noise)
	begun := time.Now().Truncate(time.Second) // old samples would be carried forward through all later buckets
	profile := make([]float64, floats)
	var profileBytes []byte
	for i := range profile {
		profile[i] = rng.NormFloat64()
		profileBytes = binary.LittleEndian.AppendUint64(profileBytes, math.Float64bits(profile[i]))
	}
	images := make([][]byte, 3)
	for i := range images {
		images[i] = make([]byte, imageBytes)
		_, _ = noise.Read(images[i]) // it never fails
		source.send("CAM:IMAGE", begun.UnixNano()+int64(i)*1e6, images[i])
	}
	source.send("CAM:PROFILE", begun.UnixNano(), profileBytes)

	check := func(where string, r *query.Reader) {
		t.Helper()
		url, from := startServer(t, r), "&from="+begun.UTC().Format(time.RFC3339)
		var got []struct{ Data []struct{ Val []float64 } }
		body := fetch(t, url+"/retrieval/data/getData.json?pv=CAM:PROFILE"+from)
		if err := json.Unmarshal(body, &got); err != nil || len(got) != 1 || len(got[0].Data) != 1 {
			t.Fatalf("the JSON read from %s is %.100s, %v", where, body, err)
		}
		if val := got[0].Data[0].Val; !slices.Equal(val, profile) {
			t.Errorf("the %[2]d floats read from %[1]s differ from those that were sent", where, len(val))
		}
		body = fetch(t, url+"/retrieval/data/getData.raw?pv=CAM:IMAGE"+from)
		lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
		if len(lines) != 1+len(images) {
			t.Fatalf("the raw answer read from %s has %d lines", where, len(lines))
		}
		for i, line := range lines[1:] {
			for _, escape := range []string{"\x1b\x02\n", "\x1b\x03\r", "\x1b\x01\x1b"} {
				line = bytes.ReplaceAll(line, []byte(escape[:2]), []byte(escape[2:]))
			}
			if !bytes.Contains(line, images[i]) {
				t.Errorf("image %[2]d read from %[1]s differs from the one that was sent", where, i)
			}
		}
	}
	reader := &query.Reader{Store: st, Recent: e, Shards: 4}
	check("memory", reader)
	if used := e.Summary().MemoryBytes; used > 128<<20 {
		t.Errorf("%d bytes of memory are in use", used)
	}
	end()
	for i, pv := range []string{"CAM:PROFILE", "CAM:IMAGE"} { // as after their first block
		if err := st.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{i}}); err != nil {
			t.Fatal(err)
		}
	}
	check("the journal", &query.Reader{Store: st, Shards: 4})
	e, _, end = startEngine(t, st) // it seals the rows that the previous engine left
	for deadline := time.Now().Add(4 * time.Minute); len(claims(t, st)) > 4; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the journal is not sealed")
		}
	}
	check("blocks", &query.Reader{Store: st, Recent: e, Shards: 4})
	end()
	check("blocks, without an engine", &query.Reader{Store: st, Shards: 4})
}

// claims returns the claims of all shards.
func claims(t *testing.T, st store.Store) (all []store.Claim) {
	t.Helper()
	for shard := range 4 {
		of, err := st.Claims(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, of...)
	}
	return all
}

// startServer starts a server of an archive and returns its address.
func startServer(t *testing.T, r *query.Reader) string {
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: r, Channels: &channels{}, Gatherer: reg, Metrics: NewMetrics(reg), Ready: func() error { return nil },
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s returns %d %.200s: %v", url, res.StatusCode, body.Bytes(), err)
	}
	return body.Bytes()
}
