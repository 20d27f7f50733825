package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	pva "varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc"
	"varve.dev/varve/ioc/sim"
)

func newIOC() *cobra.Command {
	var logs logFlags
	var cfg ioc.Config
	cmd := &cobra.Command{
		Use:   "ioc",
		Short: "Serve simulated PVs over Channel Access and pvAccess",
		Long: `Serves simulated PVs over Channel Access and pvAccess, for trials and load tests:
SIM:RAMP:0000, SIM:SINE:0000, SIM:NOISE:0000, SIM:ENUM:0000, SIM:ALARM:0000,
SIM:LONG:0000, SIM:STRING:0000, SIM:WAVE:0000 (an array) and so on. A PV has the same
value in both protocols. A ramp rises by 1 with each update, so that a receiver can
detect missing updates.`,
		Example: `  # 20 PVs of each kind at 10 Hz:
  varve ioc
  EPICS_CA_ADDR_LIST=127.0.0.1 EPICS_CA_AUTO_ADDR_LIST=NO camonitor SIM:SINE:0000
  EPICS_PVA_NAME_SERVERS=127.0.0.1:5075 pvmonitor SIM:SINE:0000

  # Found by broadcasts, on all interfaces:
  varve ioc --listen :5064 --pva-listen :5075 --pva-search :5076

  # 100,000 ramps at 10 Hz, a million updates per second:
  varve ioc --kinds RAMP --channels 100000 --rate 10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.Log, err = logs.logger(); err != nil {
				return err
			}
			cfg.Beacons, cfg.PVABeacons = withPort(cfg.Beacons, caRepeaterPort), withPort(cfg.PVABeacons, pva.BroadcastPort)
			cfg.Registerer = prometheus.NewRegistry()
			srv, err := ioc.New(cfg)
			if err != nil {
				return err
			}
			cfg.Log.Info("serving PVs", "ca", srv.Addr(), "pva", srv.PVAAddr(), "channels_of_each_kind", cfg.Channels, "hz", cfg.Rate)
			go reportIOC(cmd.Context(), srv, cfg.Log)
			return srv.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", ioc.DefaultListen, "address of Channel Access, for TCP circuits and UDP searches")
	f.StringVar(&cfg.PVAListen, "pva-listen", ioc.DefaultPVAListen, "address of pvAccess (empty: no pvAccess)")
	f.StringVar(&cfg.PVASearch, "pva-search", "", "additional address for UDP searches of pvAccess, shared with other servers: clients broadcast to port 5076")
	f.StringSliceVar(&cfg.Beacons, "beacons", nil, "hosts that receive Channel Access beacons: HOST[:PORT],… (default port 5065)")
	f.StringSliceVar(&cfg.PVABeacons, "pva-beacons", nil, "hosts that receive pvAccess beacons: HOST[:PORT],… (default port 5076)")
	f.IntVar(&cfg.Channels, "channels", 20, "number of PVs of each kind")
	f.IntVar(&cfg.Elements, "elements", ioc.DefaultElements, "length of the arrays of kind WAVE")
	f.Float64Var(&cfg.Rate, "rate", 10, "updates per second and PV (0: as fast as clients receive them)")
	f.StringVar(&cfg.Prefix, "prefix", "SIM", "prefix of the PV names")
	f.StringSliceVar(&cfg.Kinds, "kinds", kindNames(), "kinds of PVs to serve: "+strings.Join(kindNames(), ", "))
	logs.add(cmd)
	return cmd
}

// caRepeaterPort is the port where Channel Access clients listen for beacons.
const caRepeaterPort = 5065

// withPort adds a port to the hosts without one.
func withPort(hosts []string, port int) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		if out[i] = h; !strings.Contains(h, ":") {
			out[i] = net.JoinHostPort(h, strconv.Itoa(port))
		}
	}
	return out
}

// kindNames returns the kinds of simulated PVs.
func kindNames() (names []string) {
	for _, k := range sim.Kinds() {
		names = append(names, k.String())
	}
	return names
}

// reportIOC logs the rate of updates that a server sends, until ctx ends.
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
