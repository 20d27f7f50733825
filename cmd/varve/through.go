package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine/destination"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/through"
)

// throughOptions are the flags about an older archive.
type throughOptions struct {
	url   string
	names int
}

func (o *throughOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.url, "read-through", "", "address of an older archive, such as http://appliance:17668/retrieval or json:http://archive:9812/archive-access/api/1.0;key=1: it answers for times before this archive began to capture a PV (default: none)")
	f.IntVar(&o.names, "read-through-names", through.DefaultMaxNames, "how many names the older archive may have; a name needs 100 to 200 bytes of memory while the list is read again")
}

// maxThroughNames is the largest value of --read-through-names.
const maxThroughNames = 20_000_000

// older is the older archive of a process. A nil *older is none.
type older struct{ archive *through.Archive }

// close ends the requests to the older archive. No handler may run.
func (o *older) close() {
	if o != nil {
		o.archive.Close()
	}
}

// open makes a reader read through to the older archive. It returns nil if there is none. restrict is nil if
// all addresses are allowed.
func (o *throughOptions) open(r *query.Reader, reg prometheus.Registerer, restrict *destination.Rules) (*older, error) {
	if o.url == "" {
		return nil, nil
	}
	at, err := o.address()
	if err != nil {
		return nil, fmt.Errorf("--read-through: %w", err)
	}
	if o.names < 1 || o.names > maxThroughNames {
		return nil, fmt.Errorf("--read-through-names must be a number from 1 to %d", maxThroughNames)
	}
	a := through.New(through.Config{Address: at, MaxNames: o.names, Registerer: reg, Restrict: restrict})
	r.Through = a.Through()
	return &older{a}, nil
}

// address parses the flag.
func (o *throughOptions) address() (through.Address, error) {
	if through.IsJSON(o.url) {
		return through.ParseJSON(o.url)
	}
	base, err := baseURL(o.url)
	if err != nil {
		return through.Address{}, fmt.Errorf("the address %w; write it like http://appliance:17668/retrieval", err)
	}
	u, err := through.ParseURL(base + "/retrieval")
	return through.Address{URL: u}, err
}

// restricted returns the addresses that a pod does not read through to. The author of the Archiver chooses the
// older archive, and the pod reaches addresses that the author may not reach.
func restricted() *destination.Rules {
	r := &destination.Rules{Process: "the archive", Advice: "give the address of an archive that is elsewhere"}
	if api, err := netip.ParseAddr(os.Getenv("KUBERNETES_SERVICE_HOST")); err == nil {
		r.Refused = append(r.Refused, api.Unmap().WithZone(""))
	}
	return r
}

// handler returns the handler of a server that reads through to the older archive.
func (o *older) handler(cfg *serve.Config) (http.Handler, error) {
	if o == nil {
		return serve.New(cfg)
	}
	own := cfg.Warnings
	cfg.Warnings = func() []string {
		problems := o.archive.Problems()
		if own == nil {
			return problems
		}
		return slices.Concat(own(), problems)
	}
	h, err := serve.New(cfg)
	if err != nil {
		return nil, err
	}
	return o.archive.Guard(h), nil
}
