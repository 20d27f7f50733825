package restore

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

const (
	// period is the time between two samples of a number PV, by the IOC's clock. This clock
	// runs faster than real time, so that rollup tiles are completed during the test.
	period = 100 * time.Millisecond
	// imageEvery is the number of samples of a number PV for each sample of the image. The
	// bytes of an image are stored in parts, in the journal and in blocks.
	imageEvery = 500
	imageBytes = 600 << 10
)

// image is the PV with large values. All other PVs are number PVs, which count up.
const image = "IMAGE"

// ioc is a source whose PVs all count from 0 at the same times.
type ioc struct {
	begin time.Time // time of sample 0

	mu    sync.Mutex
	sinks map[string][]capture.Sink
	next  int
}

func newIOC() *ioc {
	return &ioc{begin: time.Now().Add(-3 * time.Hour).Truncate(time.Hour), sinks: map[string][]capture.Sink{}}
}

// Subscribe implements capture.Source.
func (i *ioc) Subscribe(pv string, _ capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sinks[pv] = append(i.sinks[pv], sink)
	info := capture.ChannelInfo{Type: sample.Float64, TypeName: "DBR_DOUBLE", Count: 1, Host: "ioc:5064"}
	if pv == image {
		info = capture.ChannelInfo{Type: sample.Uint8.Array(), TypeName: "DBR_CHAR", Count: imageBytes, Host: "ioc:5064"}
	}
	sink.Connected(info)
	return subscription{i, pv, sink}
}

// Close implements capture.Source.
func (*ioc) Close() error { return nil }

// Reach implements capture.Source.
func (*ioc) Reach() capture.Reach { return capture.Reach{} }

type subscription struct {
	ioc  *ioc
	pv   string
	sink capture.Sink
}

// Close implements capture.Subscription.
func (s subscription) Close() {
	s.ioc.mu.Lock()
	defer s.ioc.mu.Unlock()
	s.ioc.sinks[s.pv] = slices.DeleteFunc(s.ioc.sinks[s.pv], func(o capture.Sink) bool { return o == s.sink })
}

// send delivers the next n samples of each PV.
func (i *ioc) send(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for range n {
		for pv, sinks := range i.sinks {
			if s, ok := i.sample(pv, i.next); ok {
				for _, sink := range sinks {
					sink.Sample(&s)
				}
			}
		}
		i.next++
	}
}

// sent returns the number of samples of each number PV that were sent.
func (i *ioc) sent() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.next
}

// sample returns sample n of a PV. ok is false if the image has no sample n.
func (i *ioc) sample(pv string, n int) (s sample.Sample, ok bool) {
	s = sample.Sample{Time: i.begin.Add(time.Duration(n) * period).UnixNano(), Word: math.Float64bits(float64(n))}
	if pv != image {
		return s, true
	}
	if n%imageEvery != 0 {
		return s, false
	}
	s.Word, s.Bytes = 0, make([]byte, imageBytes)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)}).Read(s.Bytes) // Read never fails
	return s, true
}

// number returns the number of the sample at a time.
func (i *ioc) number(t int64) int { return int((t - i.begin.UnixNano()) / int64(period)) }

// last returns the number of a PV's last sample after n samples of each number PV were sent.
func last(pv string, n int) int {
	if pv == image {
		return (n - 1) / imageEvery * imageEvery
	}
	return n - 1
}

// samples returns the number of samples of a PV after n samples of each number PV were sent.
func samples(pv string, n int) int {
	if pv == image {
		return (n + imageEvery - 1) / imageEvery
	}
	return n
}
