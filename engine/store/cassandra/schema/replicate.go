package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/loglimit"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// settleFor is how long Replicate waits after a change. It is longer than a request takes,
// whether the request succeeds or fails. After this time, a node that knows of the change has
// finished all requests that it began before the change.
const settleFor = 15 * time.Second

// Bounds of retries.
const (
	replicateEvery = time.Second
	patience       = 10 * time.Minute
	logEvery       = 10 * time.Second
)

// Replication has the options of Replicate.
type Replication struct {
	// Patience is how long Replicate continues without progress, for example while nodes are
	// unreachable. The default is 10 min.
	Patience time.Duration

	// settle replaces settleFor. unrepaired skips the repairs, so that readers may miss
	// samples. Both are for tests.
	settle     time.Duration
	unrepaired bool
}

// Replicate changes the number of replicas of the archive in its datacenter to
// config.ReplicationFactor. It changes the number by one at a time and repairs all tables
// after each step. docs/design/replication.md explains why no reader misses a sample
// meanwhile. The next call continues an interrupted one. Only one process may call it at a
// time.
//
//	ALTER KEYSPACE ±1 ──▶ nodes agree ──▶ settle ──▶ repair ──▶ noted ──▶ the next, or the end
//
// The keyspace of Cassandra's users gets the same number of replicas, but at most three.
func Replicate(ctx context.Context, config cql.Config, how Replication) error {
	cfg, err := complete(config)
	if err != nil {
		return err
	}
	if cfg.ReplicationFactor < 1 {
		return errors.New("no replication factor is given")
	}
	cfg.Timeout = max(cfg.Timeout, schemaTimeout/2)
	if how.Patience == 0 {
		how.Patience = patience
	}
	if how.settle == 0 {
		how.settle = settleFor
	}
	r := &replicator{cfg: cfg, how: how, log: slog.New(loglimit.New(cfg.Log.Handler(), logEvery))}
	r.progress()
	for {
		finished, err := r.advance(ctx)
		switch {
		case finished:
			return nil
		case err == nil:
			r.progress()
			continue
		case ctx.Err() != nil:
			return fmt.Errorf("the replication of %s is not finished, and continues from here at the next start: %w", cfg.Keyspace, ctx.Err())
		case IsFinal(err):
			return err
		}
		if err := r.pause(ctx, err); err != nil {
			return err
		}
	}
}

// replicator is one call of Replicate.
type replicator struct {
	cfg target
	how Replication
	log *slog.Logger // rate-limited
	dc  string

	progressed atomic.Int64 // time of the last progress, in ns since 1970
	noAuth     bool         // system_auth is not changed
}

func (r *replicator) progress() { r.progressed.Store(time.Now().UnixNano()) }

// pause waits before a failed step is tried again. It returns an error if there was no
// progress for too long.
func (r *replicator) pause(ctx context.Context, cause error) error {
	if time.Since(time.Unix(0, r.progressed.Load())) > r.how.Patience {
		return fmt.Errorf("giving up after %v: %w", r.how.Patience, cause)
	}
	r.log.Warn("the replication waits", "keyspace", r.cfg.Keyspace, "err", cause)
	return sleep(ctx, replicateEvery)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// subject is a keyspace that should have a number of replicas.
type subject struct {
	keyspace string
	wanted   int
	now      replication
	standing
}

// advance takes the next step for all keyspaces. finished is true if no step was left.
func (r *replicator) advance(ctx context.Context) (finished bool, err error) {
	session, err := r.cfg.schemaSession(ctx)
	if err != nil {
		return false, err
	}
	defer cql.Close(session, r.cfg.Log)
	top, err := cql.ReadTopology(ctx, session)
	if err != nil {
		return false, err
	}
	if r.dc, err = top.Choose(r.cfg.Datacenter); err != nil {
		return false, err
	}
	notes, err := r.cfg.readNotes(ctx, session)
	if err != nil {
		return false, err
	}
	subjects, err := r.subjects(ctx, session, &top, notes)
	if err != nil {
		return false, err
	}
	altered := false
	var repairs []subject
	for _, s := range subjects {
		switch deed, to := s.next(s.wanted); deed {
		case alter:
			if err := r.alter(ctx, session, notes, &s, to); err != nil {
				return false, err
			}
			altered = true
		case compare:
			repairs = append(repairs, s)
		}
	}
	switch {
	case altered:
		return false, nil // one repair then covers all keyspaces
	case len(repairs) > 0:
		return false, r.settleAll(ctx, session, notes, repairs)
	}
	return true, r.alterOthers(ctx, session, &top)
}

// subjects returns the keyspaces that are changed step by step.
func (r *replicator) subjects(ctx context.Context, session *gocql.Session, top *cql.Topology, notes *notes) ([]subject, error) {
	archive, err := r.subject(ctx, session, top, notes, r.cfg.Keyspace, r.cfg.ReplicationFactor)
	if err != nil {
		return nil, err
	}
	out := []subject{archive}
	if r.noAuth {
		return out, nil
	}
	users, err := r.subject(ctx, session, top, notes, "system_auth", min(defaultReplicas, r.cfg.ReplicationFactor))
	if err == nil { // only superusers may read this table
		err = cql.Permitted(session.Query("SELECT role FROM system_auth.roles LIMIT 1").IterContext(ctx).Close())
	}
	switch {
	case errors.Is(err, ErrReplication), errors.Is(err, cql.ErrForbidden):
		r.leaveAuth(err)
	case err != nil:
		return nil, err
	case users.settled != 0 || users.present != users.wanted: // otherwise the keyspace had this number from the start
		out = append(out, users)
	case users.present == 1:
		// A single replica is complete. With this note, a later call repairs the replicas that another program, such
		// as k8ssandra-operator, has added.
		return out, notes.put(ctx, settledNote("system_auth"), 1)
	}
	return out, nil
}

func (r *replicator) subject(ctx context.Context, session *gocql.Session, top *cql.Topology, notes *notes, keyspace string, wanted int) (subject, error) {
	s := subject{keyspace: keyspace, wanted: wanted}
	var err error
	if s.now, err = readReplication(ctx, session, keyspace); err != nil {
		return s, err
	}
	if s.present, err = s.now.of(r.dc, top); err != nil {
		return s, fmt.Errorf("keyspace %s: %w", keyspace, err)
	}
	s.nodes, s.settled, s.step = top.Nodes[r.dc], notes.values[settledNote(keyspace)], notes.values[stepNote(keyspace)]
	return s, nil
}

// alter sets a number of replicas. It writes the notes first. They are correct even if the
// statement does not run.
func (r *replicator) alter(ctx context.Context, session *gocql.Session, notes *notes, s *subject, to int) error {
	if to > s.present {
		if err := r.cfg.requireNodes(ctx, r.dc, to); err != nil {
			return err
		}
	}
	for part := range notes.values {
		if strings.HasPrefix(part, repairNote(s.keyspace, "")) {
			if err := notes.put(ctx, part, 0); err != nil {
				return err
			}
		}
	}
	settled, step := s.noting(to)
	if err := notes.put(ctx, settledNote(s.keyspace), settled); err != nil {
		return err
	}
	if err := notes.put(ctx, stepNote(s.keyspace), step); err != nil {
		return err
	}
	err := setReplicas(ctx, session, s.keyspace, s.now, r.dc, to)
	if err == nil {
		r.log.Info("the number of replicas of the keyspace was changed", "keyspace", s.keyspace, "replicas", to, "before", s.present)
	}
	if errors.Is(err, cql.ErrForbidden) && s.keyspace != r.cfg.Keyspace {
		r.leaveAuth(err)
		return nil
	}
	return err
}

// leaveAuth leaves the replication of system_auth to the administrator. This keyspace contains
// Cassandra's users.
func (r *replicator) leaveAuth(why error) {
	r.noAuth = true
	r.log.Warn("the keyspace system_auth keeps its replicas; logging in depends on the nodes that hold it", "err", why)
}

// ErrNodes means that fewer nodes of a datacenter answer than replicas are requested.
var ErrNodes = errors.New("too few nodes for the replicas")

// requireNodes returns ErrNodes unless at least the given number of nodes of a datacenter
// answer.
func (c *target) requireNodes(ctx context.Context, dc string, nodes int) error {
	status, err := c.checkNodes(ctx, dc)
	if err == nil && len(status.answer) < nodes {
		unreachable := ""
		if len(status.unreachable) > 0 {
			unreachable = "; unreachable: " + strings.Join(status.unreachable, ", ")
		}
		err = fmt.Errorf("%w: datacenter %s has %d that answer, and %d are needed%s", ErrNodes, dc, len(status.answer), nodes, unreachable)
	}
	return err
}

// settleAll makes all replicas of keyspaces equal. It then writes the notes that their numbers
// of replicas are settled.
func (r *replicator) settleAll(ctx context.Context, session *gocql.Session, notes *notes, subjects []subject) error {
	var several []subject
	for _, s := range subjects {
		if s.present > 1 {
			several = append(several, s)
		}
	}
	repairs, err := r.repairable(ctx, session, several)
	if err != nil {
		return err
	}
	status, err := r.cfg.checkNodes(ctx, r.dc)
	if err != nil {
		return err
	}
	if len(several) > 0 && len(status.unreachable) > 0 {
		return fmt.Errorf("repairing the replicas: these nodes are unreachable: %s", strings.Join(status.unreachable, ", "))
	}
	if err := sleep(ctx, r.how.settle); err != nil {
		return err
	}
	if r.how.unrepaired {
		repairs = slices.DeleteFunc(repairs, func(t *repairTable) bool { return t.keyspace == r.cfg.Keyspace })
	}
	if len(repairs) > 0 {
		if err := r.repair(ctx, notes, repairs); err != nil {
			return err
		}
	}
	if err := r.restore(ctx, session); err != nil {
		return err
	}
	return r.noteSettled(ctx, session, notes, subjects)
}

// noteSettled writes the notes for the end of a repair. It returns an error if another process
// has changed the number of replicas meanwhile.
func (r *replicator) noteSettled(ctx context.Context, session *gocql.Session, notes *notes, subjects []subject) error {
	top, err := cql.ReadTopology(ctx, session)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		now, err := r.subject(ctx, session, &top, notes, s.keyspace, s.wanted)
		if err != nil {
			return err
		}
		if now.present != s.present {
			return fmt.Errorf("keyspace %s has %d replicas, and had %d when its repair began: another process changes it", s.keyspace, now.present, s.present)
		}
		if err := notes.put(ctx, settledNote(s.keyspace), s.present); err != nil {
			return err
		}
		if err := notes.put(ctx, stepNote(s.keyspace), 0); err != nil {
			return err
		}
		r.log.Info("all replicas are equal", "keyspace", s.keyspace, "replicas", s.present)
	}
	for part, mark := range notes.values {
		if strings.HasPrefix(part, repairNote("", "")[:len("repaired ")]) && mark != 0 {
			if err := notes.put(ctx, part, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// alterOthers sets the number of replicas of the keyspaces with Cassandra's own records. The
// number is the same as the archive's, but at most three. No reader depends on these
// keyspaces, so the number changes in one step.
func (r *replicator) alterOthers(ctx context.Context, session *gocql.Session, top *cql.Topology) error {
	wanted := min(defaultReplicas, r.cfg.ReplicationFactor)
	for _, keyspace := range []string{"system_distributed", "system_traces"} {
		now, err := readReplication(ctx, session, keyspace)
		if err != nil {
			return err
		}
		simple := now.is("SimpleStrategy") && len(top.Nodes) == 1
		if !simple && (!now.is("NetworkTopologyStrategy") || now[r.dc] == fmt.Sprint(wanted)) {
			continue
		}
		err = setReplicas(ctx, session, keyspace, now, r.dc, wanted)
		if errors.Is(err, cql.ErrForbidden) {
			r.log.Warn("the replicas of a system keyspace cannot be changed", "err", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
