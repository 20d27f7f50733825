package engine

import (
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/query"
)

// renamedOne returns an assignment of one shard with a PV that has a former name.
func renamedOne(sealing bool, pv, old string) Assignment {
	a := one(0, sealing, pv)
	a[0].Channels[0].Names = &capture.Names{Former: []string{old}}
	return a
}

// TestARenamedPVMoves renames a PV, and moves its shard to another engine. A reader of the new name must see all samples at
// every moment, also after both engines have stopped, and after the data of the new name is deleted.
func TestARenamedPVMoves(t *testing.T) {
	st, ioc := openStore(t), &taps{}
	a := launch(t, st, ioc, Options{Checkpoint: 20 * time.Millisecond})
	b := launch(t, st, ioc, Options{Checkpoint: 20 * time.Millisecond})
	with := func(book *names.Book) *query.Reader { return query.Named(fleet{a, b}.reader(st), book) }
	sent := 0
	send := func(pv string) {
		ioc.send(pv, sent, sent+300)
		sent += 300
	}
	a.Apply(one(0, true, "OLD"))
	send("OLD")
	a.Apply(renamedOne(true, "NEW", "OLD"))
	eventually(t, "the former name is stored", func() bool {
		v, err := a.Names().Refresh(t.Context())
		return err == nil && len(v.Former("NEW")) == 1
	})
	eventually(t, "the directory knows in which shard the old name is", func() bool { return inBlocks(t, st, "OLD") == 300 })
	both := with(a.Names())
	wantAll(t, both, "NEW", sent, "before the first sample")
	send("NEW")
	wantAll(t, both, "NEW", sent, "after the rename")
	b.Apply(renamedOne(false, "NEW", "OLD"))
	send("NEW")
	eventually(t, "the new engine has claimed", func() bool { s := b.ShardStatus(0); return s.Claimed && s.States[capture.Connected] == 1 })
	a.Apply(Assignment{})
	send("NEW")
	wantAll(t, both, "NEW", sent, "while the old engine drains")
	eventually(t, "the old engine has drained", func() bool { return len(a.Held()) == 0 })
	b.Apply(renamedOne(true, "NEW", "OLD"))
	send("NEW")
	wantAll(t, with(b.Names()), "NEW", sent, "when the new engine seals")
	a.end()

	// NEW is not in its home shard: once it is captured no longer, only the directory says where its samples are.
	eventually(t, "the directory knows in which shard the new name is", func() bool { return inBlocks(t, st, "NEW") > 0 })
	b.Apply(Assignment{0: Shard{Seal: true}}) // no group names the PV any longer
	wantAll(t, with(names.NewBook(st, nil)), "NEW", sent, "when no group names it")
	eventually(t, "the data is deleted", func() bool { return b.Delete(t.Context(), 0, []string{"NEW"}) == nil })
	if v, err := names.NewBook(st, nil).View(t.Context()); err != nil || !v.Empty() {
		t.Errorf("a deleted PV has former names: %+v, %v", v.Of("NEW"), err)
	}
	b.end()
	wantAll(t, query.Named(&query.Reader{Store: st, Shards: 4}, names.NewBook(st, nil)), "OLD", 300, "after the deletion")
}

// TestNamesWaitForTheStore applies names while the store is away.
func TestNamesWaitForTheStore(t *testing.T) {
	st, ioc := openStore(t), &taps{}
	l := launch(t, st, ioc, Options{Checkpoint: time.Hour})
	l.store.dead.Store(true)
	l.Apply(renamedOne(true, "NEW", "OLD"))
	l.store.dead.Store(false)
	eventually(t, "the names are stored", func() bool {
		v, err := names.NewBook(st, nil).View(t.Context())
		return err == nil && len(v.Former("NEW")) == 1
	})
	l.Apply(one(0, true, "NEW"))
	eventually(t, "the names are removed", func() bool {
		v, err := names.NewBook(st, nil).View(t.Context())
		return err == nil && v.Empty()
	})
}
