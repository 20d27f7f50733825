package elasticity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/soak"
)

// clockRange is the largest change of an IOC's clock. By default, the archive replaces the time
// of a sample that is more than 5 minutes ahead.
const clockRange = 2 * time.Minute

// soakKeyspace is the keyspace of the archive.
const soakKeyspace = "soak"

// shortest is the length of the shortest outage.
const shortest = 10 * time.Second

// faults returns the faults as the scheduler sees them.
func (t *trial) faults() (all []soak.Fault) {
	for _, f := range slices.Concat(faults, soakFaults(t)) {
		s := soak.Fault{Name: f.name, Exclusive: !f.sparesEngines}
		if f.lasts > 0 {
			s.Least, s.Most = shortest, outage(f.lasts)
		}
		all = append(all, s)
	}
	return all
}

// soakFaults are the faults that only a soak test injects. They take no engine away.
func soakFaults(t *trial) []fault {
	all := []fault{
		{name: "edit-channels", sparesEngines: true, inject: t.editChannels},
		{name: "edit-retention", sparesEngines: true, inject: t.editRetention},
		{name: "edit-shards", sparesEngines: true, inject: t.editShards},
		{name: "edit-redundancy", sparesEngines: true, inject: t.editRedundancy},
		{name: "ioc-clock-step", sparesEngines: true, inject: t.stepIOCClock},
		{name: "corrupt-block", sparesEngines: true, inject: t.corruptBlock},
	}
	if testBuild() {
		all = append(all, fault{name: "engine-clock-step", sparesEngines: true, inject: t.stepEngineClock})
	}
	return all
}

// edit applies a group again, with other settings or PVs.
func (t *trial) edit(ctx SpecContext, group string, pvs []string, settings ...string) {
	t.log("  %s: %d PVs, %s", group, len(pvs), strings.Join(settings, ", "))
	Eventually(ctx, func() error {
		_, err := lab.Feed(listed(group, pvs, settings...), "kubectl", "apply", "-n", t.Namespace, "-f", "-")
		return err
	}).WithTimeout(lab.Patience).Should(Succeed())
}

// pick returns one of several variants.
func pick[T any](choice uint64, variants ...T) T { return variants[choice%uint64(len(variants))] }

// editChannels adds and removes PVs, and changes how they are sampled.
func (t *trial) editChannels(ctx SpecContext, _ *site, o *occurrence) {
	var pvs []string
	for i, pv := range archive.Names("EDT:", 20) {
		if o.choice>>i&1 != 0 {
			pvs = append(pvs, pv)
		}
	}
	t.edit(ctx, edited, append(pvs, "EDT:00000"), pick(o.choice>>20,
		"sampling: {mode: Scan, period: 1s}", "sampling: {deadband: {absolute: 1}}", "sampling: {maxRate: 2}", "paused: true", "properties: [DESC]", "paused: false"))
}

// editRetention changes for how long samples are kept, so that blocks move to another tier.
func (t *trial) editRetention(ctx SpecContext, _ *site, o *occurrence) {
	p := t.part(counting)
	t.edit(ctx, p.group, p.pvs, p.setting(), pick(o.choice, "retention: {raw: 30d}", "retention: {raw: 1y}", "retention: {}"))
}

// editShards changes the shards of PVs.
func (t *trial) editShards(ctx SpecContext, _ *site, o *occurrence) {
	p := t.part(sharded)
	t.edit(ctx, p.group, p.pvs, p.setting(), pick(o.choice,
		"shardBy: {channel: {}}", "shardBy: {group: {}}", `shardBy: {prefix: {regex: "^SHD:[0-9]{4}"}}`, `shardBy: {prefix: {regex: "[0-9]$"}}`))
}

// editRedundancy switches the redundancy of PVs between 1 and 2.
func (t *trial) editRedundancy(ctx SpecContext, _ *site, o *occurrence) {
	p := t.part(toggled)
	t.edit(ctx, p.group, p.pvs, fmt.Sprintf("redundancy: %d", pick(o.choice, 1, 2)))
}

// stepIOCClock sets the clock of an IOC, ahead or back.
func (t *trial) stepIOCClock(_ SpecContext, _ *site, o *occurrence) {
	ahead := time.Duration(o.choice)%(2*clockRange/time.Second)*time.Second - clockRange
	t.log("  the clock of the IOC of group %s is %v ahead", clocked, ahead)
	t.part(clocked).ioc.SetClock(ahead)
}

// stepEngineClock sets the clock of an engine, ahead or back.
func (t *trial) stepEngineClock(ctx SpecContext, _ *site, o *occurrence) {
	const most = 40 // seconds
	pods, err := t.enginePods(ctx)
	Expect(err).NotTo(HaveOccurred())
	engine := pick(o.choice, pods...).Name
	ahead := int64(o.choice>>8%(2*most+1)) - most
	if err := lab.Write(engine, "/run/varve/clock-step", strconv.FormatInt(ahead, 10)); err != nil {
		t.log("  no clock is changed: %v", err) // its node may be away
		return
	}
	t.log("  the clock of %s is %d s ahead", engine, ahead)
}

// corruptBlock flips a byte of a stored block of one PV.
func (t *trial) corruptBlock(ctx SpecContext, _ *site, o *occurrence) {
	cluster := gocql.NewCluster(lab.Database.Addr())
	cluster.ProtoVersion, cluster.NumConns, cluster.Keyspace, cluster.Timeout = 5, 1, soakKeyspace, time.Minute
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		t.log("  no block is corrupted: %v", err) // Cassandra may be away
		return
	}
	defer session.Close()
	blocks, err := blocksOf(ctx, session, pick(o.choice, t.part(damaged).pvs...))
	if err != nil || len(blocks) == 0 {
		t.log("  no block is corrupted: %d blocks, %v", len(blocks), err)
		return
	}
	b := pick(o.choice>>8, blocks...)
	if err := b.corrupt(ctx, session, o.choice); err != nil {
		t.log("  no block is corrupted: %v", err)
		return
	}
	t.log("  a block of %s from %s to %s is corrupted", b.pv, stamp(b.start), stamp(b.end))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.destroyed[b.pv] = append(t.destroyed[b.pv], archive.Span{Begin: time.Unix(0, b.start), End: time.Unix(0, b.end)})
}

// storedBlock is a row of the table of blocks.
type storedBlock struct {
	pv                 string
	bucket, start, end int64
	writer, body       []byte
	n                  int
}

// recentBuckets is how far back blocksOf looks. The clock of an IOC is wrong by less.
const recentBuckets = 24 * time.Hour

// blocksOf returns the blocks of a PV in block_forever that have samples. It reads only the partitions in which the
// PV may have blocks according to the directory: a list of all partitions of the table would meet
// the tombstones of all of them.
func blocksOf(ctx SpecContext, session *gocql.Session, pv string) (blocks []storedBlock, err error) {
	var starts []int64
	if err := session.Query("SELECT starts FROM channel WHERE pv = ?", pv).ScanContext(ctx, &starts); err != nil {
		return nil, fmt.Errorf("reading the directory entry of %s: %w", pv, err)
	}
	var buckets []int64
	now := time.Now()
	for _, start := range starts {
		first := store.Bucket(start)
		if first.Tier() != store.Forever {
			continue
		}
		from := max(first, first.Size().Of(now.Add(-recentBuckets).UnixNano()).In(first.Tier()))
		for b := from; b <= first.Span().Last() && b.Start() <= now.Add(clockRange).UnixNano(); b = b.Next() {
			buckets = append(buckets, int64(b))
		}
	}
	for _, bucket := range buckets {
		rows := session.Query("SELECT start, writer, n, end_time, samples, body FROM block_forever WHERE pv = ? AND bucket = ?", pv, bucket).IterContext(ctx)
		b, samples := storedBlock{pv: pv, bucket: bucket}, 0
		for rows.Scan(&b.start, &b.writer, &b.n, &b.end, &samples, &b.body) {
			if samples > 0 && len(b.body) > 0 {
				blocks = append(blocks, b)
			}
			b.writer, b.body = nil, nil
		}
		if err := rows.Close(); err != nil {
			return nil, fmt.Errorf("reading bucket %d of %s: %w", bucket, pv, err)
		}
	}
	return blocks, nil
}

// corrupt flips a bit of a byte of the block. A sealer may have let the block grow meanwhile.
func (b *storedBlock) corrupt(ctx SpecContext, session *gocql.Session, choice uint64) error {
	const where = " WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ?"
	b.body[choice>>3%uint64(len(b.body))] ^= 1 << (choice % 8)
	err := session.Query("UPDATE block_forever SET body = ?"+where, b.body, b.pv, b.bucket, b.start, b.writer, b.n).ExecContext(ctx)
	if err != nil {
		return err
	}
	return session.Query("SELECT end_time FROM block_forever"+where, b.pv, b.bucket, b.start, b.writer, b.n).ScanContext(ctx, &b.end)
}
