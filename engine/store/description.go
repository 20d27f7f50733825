package store

import (
	"context"
	"errors"
)

var errNotDescribed = errors.New("the store cannot describe itself")

// Describer is implemented by stores that can describe themselves to people.
type Describer interface {
	// Describe returns what the store knows about itself now. It returns an error only if the
	// store knows nothing.
	Describe(ctx context.Context) (Description, error)
	// DescribePV returns what the store holds of a PV at the time now, in ns since 1970. It takes some
	// seconds at most. A PV that the directory does not list has no parts.
	DescribePV(ctx context.Context, pv string, now int64) (PVDescription, error)
}

// PVDescription describes what a store holds of one PV, besides its journal rows.
type PVDescription struct {
	// Parts are its samples and rollups on disk by tier, in all replicas, in the order of tiers. Bytes is -1
	// if the store does not know the size.
	Parts []Part
	// Missing says why sizes are too small. It is empty if they are not.
	Missing string
	// Estimated means that the sizes are estimates.
	Estimated bool
}

// Description describes a store.
type Description struct {
	// Kind is the kind of the store, such as Cassandra. Where is its directory, or its keyspace.
	Kind, Where string
	// Disk is the disk of the directory. It is nil if the store is not in a directory, or if the
	// disk cannot be inspected.
	Disk *Disk
	// Nodes are the nodes of the archive's datacenter. It is nil if the store has no nodes.
	Nodes []Node
	// Replicas is how many nodes hold each row. It is 0 if that is not known.
	Replicas int
	// Parts are the parts of the archive on disk, in all replicas, in no particular order. Missing
	// says why parts, or replicas of them, are missing. It is empty if none are.
	Parts   []Part
	Missing string
	// Estimated means that the sizes of the parts of each tier are estimates. Their sum is not.
	Estimated bool
}

// Disk is the space of a file system in bytes. Free is what the process may still use.
type Disk struct{ Size, Free int64 }

// Node is a node of a cluster.
type Node struct {
	Address string
	// Up means that this process is connected to the node.
	Up bool
	// Bytes is what the archive takes on the node. It is -1 if the node did not answer.
	Bytes int64
}

// Contents are the contents of a part of an archive.
type Contents string

// Contents of parts.
const (
	SampleContents  Contents = "samples"
	RollupContents  Contents = "rollups"
	JournalContents Contents = "journal"
	OtherContents   Contents = "other" // directory, marks, metadata, and logs of the store
)

// Part is a part of an archive on disk.
type Part struct {
	Contents Contents
	// Tier is the retention tier of samples and rollups. Tiered is false if it is not known.
	Tier   Tier
	Tiered bool
	Bytes  int64
}

// Describe implements Describer. It returns an error if the store is not open, or cannot describe
// itself.
func (p *Pending) Describe(ctx context.Context) (Description, error) {
	st, err := p.store()
	if err != nil {
		return Description{}, err
	}
	return Describe(ctx, st)
}

// DescribePV implements Describer.
func (p *Pending) DescribePV(ctx context.Context, pv string, now int64) (PVDescription, error) {
	st, err := p.store()
	if err != nil {
		return PVDescription{}, err
	}
	return DescribePV(ctx, st, pv, now)
}

// DescribePV describes what a store holds of a PV. It returns an error if the store cannot describe itself.
func DescribePV(ctx context.Context, st Store, pv string, now int64) (PVDescription, error) {
	if d, ok := st.(Describer); ok {
		return d.DescribePV(ctx, pv, now)
	}
	return PVDescription{}, errNotDescribed
}

// Describe describes a store. It returns an error if the store cannot describe itself.
func Describe(ctx context.Context, st Store) (Description, error) {
	if d, ok := st.(Describer); ok {
		return d.Describe(ctx)
	}
	return Description{}, errNotDescribed
}
