package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/config/samples"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc"
)

func newDemo() *cobra.Command {
	o := standaloneOptions{pipelineOptions: pipelineDefaults()}
	o.memory = 512 << 20
	sim := ioc.Config{Listen: "127.0.0.1:0", PVAListen: "127.0.0.1:0", Channels: 20, Rate: 10}
	var seconds int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Archive a simulated IOC and print the progress",
		Long: `Starts a simulated IOC and archives its PVs, with groups that are part of the program (in
its source: config/samples). It stops after --seconds (default: the environment variable
DEMO_SECONDS), or on Ctrl-C.`,
		Example: `  varve demo --seconds 30
  varve demo --file my-groups --data demo-data`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if seconds > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
				defer cancel()
			}
			return demo(ctx, cmd.OutOrStdout(), &o, sim)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file or directory with other ArchiveGroups (default: those of the program)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:17665", "address of the HTTP server; other than loopback only with --access")
	o.access.add(f)
	f.IntVar(&sim.Channels, "channels", sim.Channels, "number of simulated PVs of each kind")
	f.Float64Var(&sim.Rate, "rate", sim.Rate, "updates per second and PV")
	f.IntVar(&seconds, "seconds", envInt("DEMO_SECONDS"), "stop after this number of seconds (0: on Ctrl-C)")
	o.storage.add(f)
	f.Lookup("data").DefValue = "demo-data"
	o.storage.dir = "demo-data"
	return cmd
}

// envInt returns the number in an environment variable, or 0.
func envInt(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// demo runs the IOC and the archiver, and reports until ctx ends.
func demo(ctx context.Context, out io.Writer, o *standaloneOptions, sim ioc.Config) error {
	o.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	sim.Log = o.log
	srv, err := ioc.New(sim)
	if err != nil {
		return err
	}
	o.ca, o.pva = ca.Config{}, pva.Config{}
	o.ca.AddrList = []string{srv.Addr().String()}
	o.pva.NameServers = []string{srv.PVAAddr().String()}
	groups := o.file
	if o.file == "" {
		groups = "its sample groups"
		dir, err := writeSamples()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.file = dir
	}
	arch, err := openStandalone(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprint(out, demoHints(srv.Addr().String(), groups, o.storage.where(), arch.url()))

	iocCtx, stopIOC := context.WithCancel(context.WithoutCancel(ctx))
	defer stopIOC()
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Run(iocCtx) }) // ends only when ctx ends
	wg.Go(func() { progress(ctx, out, arch.Engine) })
	err = arch.run(ctx)
	stopIOC()
	wg.Wait()
	summarize(out, arch.Summary())
	return err
}

// writeSamples writes the sample groups to a temporary directory, which the caller removes. The
// archiver watches files.
func writeSamples() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "varve-demo-"); err != nil {
		return "", fmt.Errorf("writing the sample groups: %w", err)
	}
	if err = os.CopyFS(dir, samples.Groups); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("writing the sample groups: %w", err)
	}
	return dir, nil
}

// demoHints tells the user what to do while the demo runs at a URL. The commands have the name by
// which the user has started this one.
func demoHints(ioc, groups, store, url string) string {
	flag := ""
	if url != defaultURL {
		flag = " --url " + url
	}
	return fmt.Sprintf(`Simulated IOC at %[1]s; archiving %[2]s into %[3]s

  read samples   %[4]s get SIM:SINE:0000 --from -1m%[5]s
  see channels   %[4]s status%[5]s
  in a browser   %[6]s/

`, ioc, groups, store, os.Args[0], flag, url)
}

// progress prints a line every two seconds.
func progress(ctx context.Context, out io.Writer, e *engine.Engine) {
	const every = 2 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	start, last := time.Now(), e.Summary()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := e.Summary()
		rate := float64(now.Received-last.Received) / every.Seconds()
		fmt.Fprintf(out, "%4.0f s  connected %d/%d  received %.0f/s  stored %d  %.1f B/sample in the journal  durable after %.2f s\n",
			time.Since(start).Seconds(), now.States[capture.Connected], now.Channels, rate, now.Stored,
			ratio(float64(now.JournalBytes), float64(now.Stored)), ratio(float64(now.Pending), rate))
		last = now
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// summarize prints the counts of all samples, and whether they add up.
func summarize(out io.Writer, s engine.Summary) {
	fmt.Fprintf(out, "\nreceived %10d samples\nstored   %10d\n", s.Received, s.Stored)
	sum := s.Stored + s.Pending
	if s.Pending > 0 {
		fmt.Fprintf(out, "pending  %10d\n", s.Pending)
	}
	for r, n := range s.Dropped {
		if sum += n; n > 0 {
			fmt.Fprintf(out, "dropped  %10d %s\n", n, sample.Reason(r))
		}
	}
	verdict := "every sample is accounted for"
	if sum != s.Received {
		verdict = fmt.Sprintf("%d samples are not accounted for", int64(s.Received)-int64(sum))
	}
	fmt.Fprintf(out, "sum      %10d: %s\n", sum, verdict)
}
