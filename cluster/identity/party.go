package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config configures a Party.
type Config struct {
	Files Files
	// Self is the name of this process, which its certificate must have.
	Self Name
	// Now is time.Now if it is nil.
	Now        func() time.Time
	Registerer prometheus.Registerer
	// Log should limit the rate of equal messages.
	Log *slog.Logger
}

// Party is a process with a certificate. It is safe for concurrent use.
type Party struct {
	cfg      Config
	failures *prometheus.CounterVec // by side and reason

	mu      sync.Mutex
	current *material
	failing bool
}

// Sides of a connection, as labels of metrics.
const (
	server = "server"
	client = "client"
)

// New returns a Party. The files need not exist yet.
func New(cfg Config) *Party {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := &Party{cfg: cfg, failures: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "internal_tls", Name: "failures_total",
		Help: "Connections for /internal whose peer has no valid certificate, or that do not use TLS, by side and reason. They are refused, unless TLS is optional.",
	}, []string{"side", "reason"})}
	end := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "internal_tls", Name: "certificate_end_timestamp_seconds",
		Help: "When the certificate of this process for /internal expires; 0 while there is none.",
	}, p.end)
	if cfg.Registerer != nil {
		cfg.Registerer.MustRegister(p.failures, end)
	}
	return p
}

// end returns when the own certificate expires.
func (p *Party) end() float64 {
	m, err := p.load()
	if err != nil {
		return 0
	}
	return float64(m.own.Leaf.NotAfter.Unix())
}

// load reads the files. If they cannot be used, it returns their last valid content.
func (p *Party) load() (*material, error) {
	read, err := p.cfg.Files.read(p.cfg.Self)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.current = read
	} else if !p.failing && p.current != nil {
		p.cfg.Log.Warn("the certificate for /internal cannot be read; the last valid one stays in use", "err", err)
	}
	p.failing = err != nil
	if p.current == nil {
		return nil, &refusal{reasonOwn, fmt.Errorf("this process has no certificate for /internal: %w", err)}
	}
	return p.current, nil
}

// verify checks a peer, and counts and logs a refusal. It returns nil for every peer if optional is set.
func (p *Party) verify(cs tls.ConnectionState, m *material, side string, wanted []Name, optional bool) error {
	usage := x509.ExtKeyUsageServerAuth
	if side == server {
		usage = x509.ExtKeyUsageClientAuth
	}
	r := verify(cs.PeerCertificates, m.authorities, usage, wanted, p.cfg.Now())
	if r == nil {
		return nil
	}
	p.note(side, r, optional)
	if optional {
		return nil
	}
	return r
}

// note counts and logs why a peer is refused, or would be refused if TLS were required.
func (p *Party) note(side string, r *refusal, optional bool) {
	p.failures.WithLabelValues(side, r.reason).Inc()
	switch {
	case !optional:
		p.cfg.Log.Warn("a connection for /internal is refused", "side", side, "reason", r.reason, "err", r.err)
	case r.reason == reasonPlain:
		// Pods of the previous version connect like this until they are replaced.
		p.cfg.Log.Debug("a connection for /internal does not use TLS", "side", side)
	default:
		p.cfg.Log.Warn("a connection for /internal would be refused if TLS were required", "side", side, "reason", r.reason, "err", r.err)
	}
}
