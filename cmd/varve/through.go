package main

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/through"
)

// throughOptions is the flag that names an older archive.
type throughOptions struct{ url string }

func (o *throughOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.url, "read-through", "", "address of an older archive, such as http://appliance:17668/retrieval: it answers for times before this archive began to capture a PV (default: none)")
}

// older is the older archive of a process. A nil *older is none.
type older struct{ archive *through.Archive }

// open makes a reader read through to the older archive. It returns nil if there is none.
func (o *throughOptions) open(r *query.Reader, reg prometheus.Registerer) (*older, error) {
	if o.url == "" {
		return nil, nil
	}
	base, err := baseURL(o.url)
	if err != nil {
		return nil, fmt.Errorf("--read-through: the address %w; write it like http://appliance:17668/retrieval", err)
	}
	u, err := through.ParseURL(base + "/retrieval")
	if err != nil {
		return nil, fmt.Errorf("--read-through: %w", err)
	}
	a := through.New(through.Config{URL: u, Registerer: reg})
	r.Through = a.Through()
	return &older{a}, nil
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
