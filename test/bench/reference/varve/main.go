// Command varve subscribes to PVs with Varve's own clients, for comparison with libca and
// PVXS. It has no filters, no journal and no store.
//
//	reference-varve FORMAT COUNT SECONDS ca|pva
//
// FORMAT is the format of a PV's name with its number, such as SIM:NOISE:%04d. If no server
// has the PVs, the command searches for SECONDS. It prints lines with a name and a number.
// connected_s is the time until all PVs were connected. events and cpu_us are the number of
// events and the CPU time of the process in the SECONDS after that.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/sample"
)

// counter counts the connections and samples of all channels.
type counter struct{ connected, events atomic.Int64 }

// Connected implements capture.Sink.
func (c *counter) Connected(capture.ChannelInfo) { c.connected.Add(1) }

// Sample implements capture.Sink.
func (c *counter) Sample(*sample.Sample) { c.events.Add(1) }

// Metadata implements capture.Sink.
func (c *counter) Metadata(*sample.Metadata) {}

// Dropped implements capture.Sink.
func (c *counter) Dropped(sample.Reason, uint64) {}

// Suspect implements capture.Sink.
func (c *counter) Suspect(time.Time, time.Time) {}

// Checked implements capture.Sink.
func (c *counter) Checked(*sample.Sample, time.Time) bool { return false }

// Disconnected implements capture.Sink.
func (c *counter) Disconnected(error) { c.connected.Add(-1) }

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// source returns a client of a provider, configured by the environment.
func source(provider string) (capture.Source, error) {
	if provider == capture.PVA.String() {
		cfg, err := pva.ConfigFromEnv(os.LookupEnv)
		if err != nil {
			return nil, err
		}
		return pva.New(cfg)
	}
	cfg, err := ca.ConfigFromEnv(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return ca.New(cfg)
}

func run(args []string, out io.Writer) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: reference-varve FORMAT COUNT SECONDS ca|pva")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	length := time.Duration(seconds) * time.Second
	s, err := source(args[3])
	if err != nil {
		return err
	}
	var c counter
	begun := time.Now()
	for i := range count {
		s.Subscribe(fmt.Sprintf(args[0], i), capture.SubscribeOptions{}, &c)
	}
	for c.connected.Load() < int64(count) {
		if time.Since(begun) > length {
			fmt.Fprintf(out, "connected %d\ncpu_us %d\n", c.connected.Load(), cpu().Microseconds())
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintf(out, "connected_s %.3f\n", time.Since(begun).Seconds())
	time.Sleep(2 * time.Second) // the first values arrive
	before, cost := c.events.Load(), cpu()
	time.Sleep(length)
	cost = cpu() - cost
	fmt.Fprintf(out, "events %d\ncpu_us %d\n", c.events.Load()-before, cost.Microseconds())
	return nil // the process ends without closing the subscriptions
}

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
