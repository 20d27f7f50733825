package cassandra

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
)

// Describe implements store.Describer. It reads from every node of the datacenter the disk space of
// the tables, without memtables. If a node does not answer, the description lacks its figures.
func (s *Store) Describe(ctx context.Context) (store.Description, error) {
	d := store.Description{Kind: "Cassandra", Where: fmt.Sprintf("keyspace %s in datacenter %s", s.cfg.Keyspace, s.cfg.Datacenter)}
	var hosts []*gocql.HostInfo
	for _, h := range s.session.GetHosts() {
		if h.DataCenter() == s.cfg.Datacenter {
			hosts = append(hosts, h)
		}
	}
	usages, errs := make([]map[string]int64, len(hosts)), make([]error, len(hosts))
	var reading sync.WaitGroup
	for i, h := range hosts {
		reading.Go(func() { usages[i], errs[i] = s.usageOf(ctx, h) })
	}
	reading.Wait()
	parts := map[store.Part]int64{}
	for i, h := range hosts {
		n := store.Node{Address: net.JoinHostPort(h.ConnectAddress().String(), strconv.Itoa(h.Port())), Up: h.IsUp(), Bytes: -1}
		if errs[i] != nil {
			d.Missing = fmt.Sprintf("node %s did not say how much it stores: %v", n.Address, errs[i])
		} else {
			n.Bytes = 0
			for table, bytes := range usages[i] {
				n.Bytes += bytes
				parts[partOf(table)] += bytes
			}
		}
		d.Nodes = append(d.Nodes, n)
	}
	for p, bytes := range parts {
		p.Bytes = bytes
		d.Parts = append(d.Parts, p)
	}
	d.Replicas = int(s.replicas())
	return d, nil
}

// usageOf returns the disk space of the tables on a node, in bytes by table.
func (s *Store) usageOf(ctx context.Context, h *gocql.HostInfo) (map[string]int64, error) {
	it := s.session.Query("SELECT table_name, mebibytes FROM system_views.disk_usage WHERE keyspace_name = ?", s.cfg.Keyspace).
		SetHostID(h.HostID()).IterContext(withOperation(ctx, "size"))
	usage := map[string]int64{}
	var table string
	var mebibytes int64
	for it.Scan(&table, &mebibytes) {
		usage[table] = mebibytes << 20
	}
	return usage, it.Close()
}

// partOf returns what a table holds.
func partOf(table string) store.Part {
	name, tier, _ := cutLast(table)
	p := store.Part{Contents: store.OtherContents}
	if t, err := store.ParseTier(tier); err == nil {
		p.Tier, p.Tiered = t, true
	}
	switch {
	case p.Tiered && (name == "block" || strings.HasPrefix(name, "block_")):
		p.Contents = store.SampleContents
	case p.Tiered && name == "rollup":
		p.Contents = store.RollupContents
	case table == "journal" || table == "journal_part":
		p = store.Part{Contents: store.JournalContents}
	default:
		p = store.Part{Contents: store.OtherContents}
	}
	return p
}

// cutLast cuts a name around its last underscore.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}
