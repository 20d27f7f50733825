package ioc

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"varve.dev/varve/engine/ca/proto"
	pva "varve.dev/varve/engine/pva/proto"
)

// BenchmarkLoopback sends updates of ramps as fast as a reader can discard them. One operation
// is one event. The CPU time includes the server and the reader.
func BenchmarkLoopback(b *testing.B) {
	for name, p := range map[string]struct {
		addr      func(*Server) netip.AddrPort
		subscribe func(w io.Writer, names []string)
		event     int // size of an event in bytes
	}{
		"ca":  {(*Server).Addr, subscribeCA, proto.HeaderSize + 24},
		"pva": {(*Server).PVAAddr, subscribePVA, 46},
	} {
		for _, channels := range []int{1, 1000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", name, channels), func(b *testing.B) {
				s := start(b, Config{Channels: channels, Kinds: []string{"ramp"}})
				conn, err := net.Dial("tcp4", p.addr(s).String())
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				var names []string
				for n := range s.set.Names() {
					names = append(names, n)
				}
				go p.subscribe(conn, names)
				buf := make([]byte, 256<<10)
				read := func() int {
					n, err := conn.Read(buf)
					if err != nil {
						b.Fatal(err)
					}
					return n
				}
				for s.Stats().Sent < uint64(2*channels) { // until all subscriptions have their first update
					read()
				}
				b.SetBytes(int64(p.event))
				b.ReportAllocs()
				cpu := processorTime()
				b.ResetTimer()
				for n := 0; n < b.N*p.event; {
					n += read()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(float64(processorTime()-cpu)/float64(b.N), "cpu-ns/event")
			})
		}
	}
}

// processorTime returns the CPU time of this process so far, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// subscribeCA subscribes to PVs over Channel Access.
func subscribeCA(w io.Writer, names []string) {
	var req []byte
	for i, name := range names {
		id := uint32(i + 1)
		req = proto.AppendCreateChan(req, name, id)
		req = proto.AppendEventAdd(req, proto.Double.In(proto.TIME), 1, id, id, 1)
	}
	_, _ = w.Write(req) // if this fails, the reader fails too
}

// subscribePVA subscribes to PVs over pvAccess.
func subscribePVA(w io.Writer, names []string) {
	req := pva.AppendLogin(nil, &pva.Login{Registry: 100}, 0)
	for i, name := range names {
		id := uint32(i + 1)
		req = pva.AppendCreateChannel(req, id, name, 0)
		req = pva.AppendInit(req, pva.CmdMonitor, pva.Request{SID: id, IOID: id, Sub: pva.SubInit}, nil, nil, 0, 0)
		req = pva.AppendRequest(req, pva.CmdMonitor, pva.Request{SID: id, IOID: id, Sub: pva.SubStart}, 0)
	}
	_, _ = w.Write(req) // if this fails, the reader fails too
}
