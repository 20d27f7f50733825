package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"varve.dev/varve/engine/ioc"
)

func newIOC() *cobra.Command {
	var logs logFlags
	var cfg ioc.Config
	cmd := &cobra.Command{
		Use:   "ioc",
		Short: "Serve simulated PVs over Channel Access",
		Long: `Serves simulated PVs over Channel Access, for trying out and as a source of load:
SIM:RAMP:0000, SIM:SINE:0000, SIM:NOISE:0000, SIM:ENUM:0000, SIM:ALARM:0000,
SIM:LONG:0000, SIM:STRING:0000 and so on. A ramp rises by 1 with each update, so
that a receiver can tell whether it has all of them.`,
		Example: `  # 20 PVs of each kind at 10 Hz:
  varve ioc --listen 127.0.0.1:5064
  EPICS_CA_ADDR_LIST=127.0.0.1 EPICS_CA_AUTO_ADDR_LIST=NO camonitor SIM:SINE:0000

  # 100,000 ramps at 10 Hz, a million updates per second:
  varve ioc --kinds RAMP --channels 100000 --rate 10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.Log, err = logs.logger(); err != nil {
				return err
			}
			cfg.Registerer = prometheus.NewRegistry()
			srv, err := ioc.New(cfg)
			if err != nil {
				return err
			}
			cfg.Log.Info("serving PVs", "addr", srv.Addr().String(), "channels_of_each_kind", cfg.Channels, "hz", cfg.Rate)
			go reportIOC(cmd.Context(), srv, cfg.Log)
			return srv.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:5064", "address of TCP circuits and UDP searches")
	f.IntVar(&cfg.Channels, "channels", 20, "number of PVs of each kind")
	f.Float64Var(&cfg.Rate, "rate", 10, "updates per second of each PV; 0: as fast as clients take them")
	f.StringVar(&cfg.Prefix, "prefix", "SIM", "first part of the names")
	f.StringSliceVar(&cfg.Kinds, "kinds", kindNames(), "kinds to serve: "+strings.Join(kindNames(), ", "))
	logs.add(cmd)
	return cmd
}

// kindNames returns the kinds of simulated PVs.
func kindNames() (names []string) {
	for _, k := range ioc.Kinds() {
		names = append(names, k.String())
	}
	return names
}

// reportIOC logs what a server sends, until ctx ends.
func reportIOC(ctx context.Context, srv *ioc.Server, log *slog.Logger) {
	const every = 10 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	var sent uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		st := srv.Stats()
		if st.Sent != sent {
			log.Info("sending", "circuits", st.Circuits, "subscriptions", st.Subscriptions,
				"rate", fmt.Sprintf("%.0f/s", float64(st.Sent-sent)/every.Seconds()), "dropped", st.Dropped)
		}
		sent = st.Sent
	}
}
