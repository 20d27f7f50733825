package main

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/engine/loglimit"
)

// internalTLS are the flags about certificates for the paths below /internal.
type internalTLS struct {
	dir      string
	optional bool
	// operator is the namespace of the operator. Only engines have it.
	operator string
}

func addInternalTLSDir(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "internal-tls-dir", "", "directory with the certificate for the paths below /internal: tls.crt, tls.key, ca.crt and, if it exists, authorities.crt; read again for each connection (default: no TLS)")
}

func (o *internalTLS) add(f *pflag.FlagSet) {
	addInternalTLSDir(f, &o.dir)
	f.BoolVar(&o.optional, "internal-tls-optional", false, "also connect without TLS or with other certificates, and count these connections: for upgrades")
}

func (o *internalTLS) addOperator(f *pflag.FlagSet) {
	f.StringVar(&o.operator, "operator-namespace", "", "namespace of the operator, which may also use the paths below /internal; with --internal-tls-dir (default: only retrieval pods may)")
}

func (o *internalTLS) check() error {
	switch {
	case o.dir == "" && o.optional:
		return errors.New("--internal-tls-optional: it needs --internal-tls-dir")
	case o.dir == "" && o.operator != "":
		return errors.New("--operator-namespace: it needs --internal-tls-dir")
	case o.operator != "":
		return checkName("--operator-namespace", o.operator)
	}
	return nil
}

// party returns this process with its certificate.
func (o *internalTLS) party(self identity.Name, reg prometheus.Registerer, log *slog.Logger) *identity.Party {
	return identity.New(identity.Config{
		Files: identity.Files(o.dir), Self: self, Registerer: reg, Log: slog.New(loglimit.New(log.Handler(), 10*time.Second)),
	})
}

// component returns the name of a component of this archive.
func (o *clusterOptions) component(component string) identity.Name {
	return identity.Of(o.namespace, o.archiver, component)
}

// checkInternalTLS checks the flags about certificates of an engine. Readers, probes and Prometheus have no
// certificate, so /internal needs a port of its own.
func (o *engineOptions) checkInternalTLS() error {
	switch {
	case o.tls.dir != "" && o.metrics == "":
		return errors.New("--internal-tls-dir: it needs --metrics-listen, because probes and Prometheus have no certificate")
	case o.tls.dir != "" && o.retrieval && o.internal == "":
		return errors.New("--internal-tls-dir: it needs --internal-listen, because readers have no certificate")
	}
	return o.tls.check()
}

// authenticate makes the port of /internal accept only the other parts of the archive.
func (p *enginePod) authenticate(reg prometheus.Registerer) {
	o := p.opts
	if o.tls.dir == "" {
		return
	}
	party := o.tls.party(o.component(v1alpha1.ComponentEngine), reg, o.log)
	clients := []identity.Name{o.component(v1alpha1.ComponentRetrieval)}
	if o.tls.operator != "" {
		clients = append(clients, identity.Operator(o.tls.operator))
	}
	if o.internal == "" {
		p.listener, p.handler = party.Listener(p.listener, o.tls.optional, clients...), party.Renew(p.handler)
		return
	}
	side := &p.sides[len(p.sides)-1] // serveInternal has added it last
	side.listener, side.handler = party.Listener(side.listener, o.tls.optional, clients...), party.Renew(side.handler)
}

// dialer opens connections to engines. It is nil if they use no TLS.
func (o *retrievalOptions) dialer(reg prometheus.Registerer) *identity.Dialer {
	if o.tls.dir == "" {
		return nil
	}
	return &identity.Dialer{
		Party:  o.tls.party(o.component(v1alpha1.ComponentRetrieval), reg, o.log),
		Server: o.component(v1alpha1.ComponentEngine), Optional: o.tls.optional,
	}
}

// identify reads the flags about the operator's certificate.
func (o *operatorOptions) identify(log *slog.Logger) error {
	switch {
	case o.tls.dir == "":
		return nil
	case o.PodNamespace == "":
		return errors.New("--internal-tls-dir: it needs the environment variable POD_NAMESPACE, because the certificate must name the namespace of the operator")
	}
	o.Identity = o.tls.party(identity.Operator(o.PodNamespace), metrics.Registry, log)
	return nil
}
