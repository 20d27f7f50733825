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

	calm "varve.dev/varve/engine/loglimit"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// settleFor is longer than a request takes, whatever comes of it: a node that has
// learnt of a change has ended by then what it began before.
const settleFor = 15 * time.Second

// Limits of trying again.
const (
	replicateEvery = time.Second
	patience       = 10 * time.Minute
	tellEvery      = 10 * time.Second
)

// Replication is how Replicate goes about it.
type Replication struct {
	// Patience is how long to go on while nothing gets better, as while nodes are away;
	// 10 min by default.
	Patience time.Duration

	// For tests: another settleFor; and no repairs, which is wrong.
	settle     time.Duration
	unrepaired bool
}

// Replicate brings the archive to config.ReplicationFactor replicas in its datacenter, one by
// one, each followed by a repair of all tables: docs/design/replication.md tells why no reader
// misses a sample meanwhile. A call that was broken off is taken up by the next. One
// process may call it at a time.
//
//	ALTER KEYSPACE ±1 ──▶ nodes agree ──▶ settle ──▶ repair ──▶ noted ──▶ the next, or the end
//
// What the users of Cassandra are kept in has as many replicas then, but no more than three.
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
	r := &replicator{cfg: cfg, how: how, log: slog.New(calm.New(cfg.Log.Handler(), tellEvery))}
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
			return fmt.Errorf("the replication of %s is not finished, and goes on from here at the next start: %w", cfg.Keyspace, ctx.Err())
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
	log *slog.Logger // of which warnings come now and then
	dc  string

	progressed atomic.Int64 // when something got better last, in ns since 1970
	noAuth     bool         // system_auth is left as it is
}

func (r *replicator) progress() { r.progressed.Store(time.Now().UnixNano()) }

// pause waits before something is tried again that failed, or gives up.
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

// subject is a keyspace that is to have a number of replicas.
type subject struct {
	keyspace string
	wanted   int
	now      replication
	standing
}

// advance does what is next, to all keyspaces at a time. It reports whether that was the
// end.
func (r *replicator) advance(ctx context.Context) (finished bool, err error) {
	session, err := r.cfg.schemaSession(ctx)
	if err != nil {
		return false, err
	}
	defer session.Close()
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
		return false, nil // as one repair does for all
	case len(repairs) > 0:
		return false, r.settleAll(ctx, session, notes, repairs)
	}
	return true, r.others(ctx, session, &top)
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
	if err == nil { // who may read it is a superuser
		err = cql.Permitted(session.Query("SELECT role FROM system_auth.roles LIMIT 1").IterContext(ctx).Close())
	}
	switch {
	case errors.Is(err, ErrReplication), errors.Is(err, cql.ErrForbidden):
		r.leaveAuth(err)
	case err != nil:
		return nil, err
	case users.settled != 0 || users.present != users.wanted: // else it was made so
		out = append(out, users)
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

// alter sets a number of replicas. What is noted before is true whether the statement
// comes to be run or not.
func (r *replicator) alter(ctx context.Context, session *gocql.Session, notes *notes, s *subject, to int) error {
	if to > s.present {
		if err := r.cfg.enough(ctx, r.dc, to); err != nil {
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
		r.log.Info("the keyspace has another number of replicas", "keyspace", s.keyspace, "replicas", to, "before", s.present)
	}
	if errors.Is(err, cql.ErrForbidden) && s.keyspace != r.cfg.Keyspace {
		r.leaveAuth(err)
		return nil
	}
	return err
}

// leaveAuth leaves the users of Cassandra to the administrator.
func (r *replicator) leaveAuth(why error) {
	r.noAuth = true
	r.log.Warn("the keyspace system_auth is left as it is: who may log in depends on the nodes that have it", "err", why)
}

// ErrNodes is that a datacenter has fewer nodes that answer than replicas are asked for.
var ErrNodes = errors.New("too few nodes for the replicas")

// enough returns an error unless a datacenter has so many nodes that answer.
func (c *target) enough(ctx context.Context, dc string, nodes int) error {
	roll, err := c.rollCall(ctx, dc)
	if err == nil && len(roll.answer) < nodes {
		away := ""
		if len(roll.away) > 0 {
			away = "; these are away: " + strings.Join(roll.away, ", ")
		}
		err = fmt.Errorf("%w: datacenter %s has %d that answer, and %d are needed%s", ErrNodes, dc, len(roll.answer), nodes, away)
	}
	return err
}

// settleAll makes all replicas of keyspaces equal, and notes it. Nodes go by the number in
// force from then on.
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
	roll, err := r.cfg.rollCall(ctx, r.dc)
	if err != nil {
		return err
	}
	if len(several) > 0 && len(roll.away) > 0 {
		return fmt.Errorf("repairing the replicas: these nodes are away: %s", strings.Join(roll.away, ", "))
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

// noteSettled notes the end of a repair, unless somebody has changed the number of replicas
// meanwhile.
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

// others gives as many replicas to keyspaces in which Cassandra keeps what it says of itself. No
// reader depends on that, so there are no steps.
func (r *replicator) others(ctx context.Context, session *gocql.Session, top *cql.Topology) error {
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
			r.log.Warn("a keyspace of Cassandra's own is left as it is", "err", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
