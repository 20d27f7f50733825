package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

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
	// credentials is a directory, such as a mounted Secret.
	credentials string
	// later lets a process start whose credentials are missing or wrong. Reads that need them then fail.
	later bool
}

func (o *throughOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.url, "read-through", "", "address of an older archive, such as http://appliance:17668/retrieval or json:http://archive:9812/archive-access/api/1.0;key=1: it answers for times before this archive began to capture a PV (default: none)")
	f.StringVar(&o.credentials, "read-through-credentials", "", "directory with the file token, or the files username and password, for the older archive (default: no credentials)")
	f.IntVar(&o.names, "read-through-names", through.DefaultMaxNames, "maximum number of PVs in the older archive's list of names; a name needs 100 to 200 bytes of memory while the list is read again")
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
	authorize, err := o.authorizer()
	if err != nil {
		return nil, err
	}
	a := through.New(through.Config{Address: at, Authorize: authorize, MaxNames: o.names, Registerer: reg, Restrict: restrict})
	r.Through = a.Through()
	return &older{a}, nil
}

// authorizer returns what adds the credentials to a request, or nil without credentials. It reads them for each request,
// because the files of a Secret change while a pod runs.
func (o *throughOptions) authorizer() (func(*http.Request) error, error) {
	if o.credentials == "" {
		return nil, nil
	}
	if o.later {
		return o.authorize, nil
	}
	return o.authorize, o.authorize(&http.Request{Header: http.Header{}})
}

// authorize adds the credentials to a request.
func (o *throughOptions) authorize(req *http.Request) error {
	return authorizeFrom("--read-through-credentials", o.credentials, req)
}

// authorizeFrom adds the credentials in a directory, which a flag names, to a request.
func authorizeFrom(flag, dir string, req *http.Request) error {
	token, err := credential(flag, dir, "token")
	switch {
	case err == nil && strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("%s: the file token must have one line of letters, digits and punctuation", flag)
	case err == nil:
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	user, err := credential(flag, dir, "username")
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %s has neither the file token nor the files username and password", flag, dir)
	}
	if err != nil {
		return err
	}
	password, err := credential(flag, dir, "password")
	if err == nil {
		req.SetBasicAuth(user, password)
	}
	return err
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
