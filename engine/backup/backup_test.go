package backup

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// archive returns an archive with rows of all kinds, unsealed ones among them.
func archive(t *testing.T) store.Store {
	t.Helper()
	st := open(t, t.TempDir())
	fill(t, st, 8)
	w := newWorld(t, st, "W:1", "W:2")
	w.send(100)
	w.checkpoint()
	w.send(100)
	w.close()
	return st
}

// checkSame fails the test unless two archives have the same rows. The packs of equal rows are equal.
func checkSame(t *testing.T, want *Manifest, st store.Store) {
	t.Helper()
	got := create(t, st, NewDir(t.TempDir()), "again")
	for i, p := range want.Packs {
		if i >= len(got.Packs) || got.Packs[i].SHA256 != p.SHA256 {
			t.Fatalf("pack %d is %+v; the restored archive has %v", i, p, got.Rows)
		}
	}
	if len(got.Packs) != len(want.Packs) {
		t.Fatalf("the restored archive has %d packs instead of %d", len(got.Packs), len(want.Packs))
	}
}

func TestARestoredArchiveHasTheSameRows(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	m := create(t, st, d, "b")
	for name := range kindNames[1:] {
		if kind := kindNames[name+1]; m.Rows[kind] == 0 {
			t.Errorf("the backup has no rows of kind %s", kind)
		}
	}
	got := restored(t, d, "b")
	checkSame(t, m, got)

	_, again, err := Restore(t.Context(), got, d, RestoreOptions{Name: "b", Shards: shards})
	if err != nil || !again.Already {
		t.Errorf("the second restore returned %+v, %v", again, err)
	}
	checkSame(t, m, got)
}

func TestASecondBackupReusesPacks(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	create(t, st, d, "first")
	var same, more Progress
	_, err := Create(t.Context(), st, d, CreateOptions{Name: "same", Shards: shards, packBytes: 4 << 10, Progress: &same})
	must(t, err)
	if same.NewPacks.Load() != 0 || same.ReusedPacks.Load() < 10 {
		t.Errorf("a backup of the same rows made %d packs and reused %d", same.NewPacks.Load(), same.ReusedPacks.Load())
	}
	must(t, st.PutBlocks(t.Context(), numbers(t, "F:003", store.Day.Of(time.Now().UnixNano()), 100)))
	_, err = Create(t.Context(), st, d, CreateOptions{Name: "more", Shards: shards, packBytes: 4 << 10, Progress: &more})
	must(t, err)
	if n := more.NewPacks.Load(); n < 1 || n > 3 {
		t.Errorf("a backup with one more block made %d packs", n)
	}
}

// failing is a destination that fails from a write on, like a process that is killed. The failing write is done or not.
type failing struct {
	Destination
	writes *int
	at     int
	done   bool
}

var errKilled = errors.New("killed")

func (f failing) write(do func() error) error {
	*f.writes++
	if *f.writes < f.at {
		return do()
	}
	if *f.writes == f.at && f.done {
		return errors.Join(do(), errKilled)
	}
	return errKilled
}

// Put implements Destination.
func (f failing) Put(ctx context.Context, name string, data []byte) error {
	return f.write(func() error { return f.Destination.Put(ctx, name, data) })
}

// Create implements Destination.
func (f failing) Create(ctx context.Context, name string, data []byte) error {
	return f.write(func() error { return f.Destination.Create(ctx, name, data) })
}

// Remove implements Destination.
func (f failing) Remove(ctx context.Context, name string) error {
	return f.write(func() error { return f.Destination.Remove(ctx, name) })
}

// A backup that is interrupted at any write is not there, or complete; the next try reuses its packs.
func TestABackupContinuesAfterAnyWrite(t *testing.T) {
	st := archive(t)
	total := 0
	whole, err := Create(t.Context(), st, failing{NewDir(t.TempDir()), &total, 1 << 30, false}, CreateOptions{Name: "b", Shards: shards, packBytes: 4 << 10})
	must(t, err)
	for at := 1; at < total; at++ { // the last write removes the announcement
		for _, done := range []bool{false, true} {
			d := NewDir(t.TempDir())
			n := 0
			opts := CreateOptions{Name: "b", Shards: shards, packBytes: 4 << 10}
			if _, err := Create(t.Context(), st, failing{d, &n, at, done}, opts); !errors.Is(err, errKilled) {
				t.Fatalf("write %d failed, and Create returned %v", at, err)
			}
			there := packsIn(t, d)
			var p Progress
			opts.Progress = &p
			_, err := Create(t.Context(), st, d, opts)
			if at == total-1 && done {
				if !errors.Is(err, ErrExists) {
					t.Fatalf("the manifest was written, and the next backup returned %v", err)
				}
				continue
			}
			must(t, err)
			if int(p.ReusedPacks.Load()) < there || int(p.NewPacks.Load()) != len(whole.Packs)-there {
				t.Errorf("interrupted at write %d: %d packs existed, and the next try reused %d", at, there, p.ReusedPacks.Load())
			}
		}
	}
}

func packsIn(t *testing.T, d Destination) (n int) {
	t.Helper()
	for _, err := range d.List(t.Context(), packsPrefix) {
		must(t, err)
		n++
	}
	return n
}

func TestCancelledBackupLeavesNoManifest(t *testing.T) {
	st := archive(t).(interface{ store.Store })
	ctx, cancel := context.WithCancel(t.Context())
	d := NewDir(t.TempDir())
	n := 0
	stopping := failing{d, &n, 1 << 30, false}
	go func() {
		for { // cancels after the first pack
			if packsIn(t, d) > 0 {
				cancel()
				return
			}
		}
	}()
	_, err := Create(ctx, st, stopping, CreateOptions{Name: "b", Shards: shards, packBytes: 1 << 10, Rate: 1 << 10})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Create returned %v", err)
	}
	if _, err := Read(t.Context(), d, "b"); !errors.Is(err, ErrNoBackup) {
		t.Errorf("the backup exists: %v", err)
	}
	for o, err := range d.List(t.Context(), runningPrefix) {
		t.Errorf("the announcement %s stayed (%v)", o.Name, err)
	}
}

// Verify finds each damage, and a restore refuses it: a cut or missing pack before it writes anything, and any other one before
// it writes a row of the pack.
func TestDamagedPacks(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	m := create(t, st, d, "b")
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"empty":   func([]byte) []byte { return nil },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"longer":  func(b []byte) []byte { return append(b, 0) },
		"missing": nil,
	} {
		for i := range m.Packs {
			file := d.file(m.Packs[i].object())
			whole, err := os.ReadFile(file)
			must(t, err)
			if damage == nil {
				must(t, os.Remove(file))
			} else {
				must(t, os.WriteFile(file, damage(bytes.Clone(whole)), 0o600))
			}
			_, report, err := Verify(t.Context(), d, "b", VerifyOptions{})
			must(t, err)
			if report.Count != 1 || !strings.Contains(report.Problems[0], m.Packs[i].SHA256) {
				t.Errorf("%s: verify found %v", name, report.Problems)
			}
			if i%4 == 0 {
				target := open(t, t.TempDir())
				if _, _, err = Restore(t.Context(), target, d, RestoreOptions{Name: "b", Shards: shards}); err == nil || !strings.Contains(err.Error(), m.Packs[i].SHA256) {
					t.Errorf("%s: the restore returned %v", name, err)
				}
				if name != "flipped" {
					r := restorer{store: target, opts: RestoreOptions{Shards: shards}}
					must(t, r.checkEmpty(t.Context()))
				}
				release(t, target)
			}
			must(t, os.WriteFile(file, whole, 0o600))
		}
	}
}

// interrupted is a store whose writes fail from one on.
type interrupted struct {
	store.Store
	writes *int
	at     int
}

func (s interrupted) next() error {
	if *s.writes++; *s.writes >= s.at {
		return store.ErrTooLarge // an error that is not tried again
	}
	return nil
}

// PutBlocks implements store.Store.
func (s interrupted) PutBlocks(ctx context.Context, b ...store.Block) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.PutBlocks(ctx, b...)
}

// PutMetadata implements store.Store.
func (s interrupted) PutMetadata(ctx context.Context, m store.PVMetadata) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.PutMetadata(ctx, m)
}

// AddChannel implements store.Store.
func (s interrupted) AddChannel(ctx context.Context, c store.Channel) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.AddChannel(ctx, c)
}

// PutClaim implements store.Store.
func (s interrupted) PutClaim(ctx context.Context, c store.Claim) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.PutClaim(ctx, c)
}

// PutJournal implements store.Store.
func (s interrupted) PutJournal(ctx context.Context, r store.JournalRow) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.PutJournal(ctx, r)
}

func TestARestoreContinues(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	m := create(t, st, d, "b")
	other := create(t, st, d, "other")
	total := 0
	opts := RestoreOptions{Name: "b", Shards: shards, Parallel: 1}
	_, _, err := Restore(t.Context(), interrupted{open(t, t.TempDir()), &total, 1 << 30}, d, opts)
	must(t, err)
	for at := 2; at <= total; at += 3 {
		n := 0
		target := open(t, t.TempDir())
		if _, _, err := Restore(t.Context(), interrupted{target, &n, at}, d, opts); err == nil {
			t.Fatalf("write %d of %d failed, and Restore returned no error", at, total)
		}
		if _, _, err := Restore(t.Context(), target, d, RestoreOptions{Name: other.Name, Shards: shards}); !errors.Is(err, ErrNotEmpty) {
			t.Fatalf("another backup was restored into it: %v", err)
		}
		_, result, err := Restore(t.Context(), target, d, opts)
		must(t, err)
		if result.Already {
			t.Errorf("the restore was interrupted at write %d, and is said to be complete", at)
		}
		checkSame(t, m, target)
		release(t, target)
	}
}

func TestARestoreRefuses(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	create(t, st, d, "b")
	edit := func(name string, change func(m *Manifest)) {
		m, err := Read(t.Context(), d, "b")
		must(t, err)
		m.Name = name
		change(m)
		data, err := m.encode()
		must(t, err)
		must(t, d.Put(t.Context(), manifestObject(name), data))
	}
	edit("newer", func(m *Manifest) { m.FormatLevel = store.LatestFormat + 1 })
	edit("older", func(m *Manifest) { m.FormatLevel = store.OldestFormat - 1 })
	data, err := d.Get(t.Context(), manifestObject("b"), maxManifest)
	must(t, err)
	must(t, d.Put(t.Context(), manifestObject("version"), bytes.Replace(data, []byte("backup 1"), []byte("backup 2"), 1)))
	must(t, d.Put(t.Context(), manifestObject("damaged"), bytes.Replace(data, []byte(`"shards":2`), []byte(`"shards":3`), 1)))
	must(t, d.Put(t.Context(), manifestObject("foreign"), []byte("{}")))
	empty := open(t, t.TempDir())
	for _, c := range []struct {
		name   string
		shards int
		into   store.Store
		want   error
	}{
		{"b", shards, st, ErrNotEmpty},
		{"b", shards + 1, empty, ErrShards},
		{"newer", shards, empty, store.ErrFormat},
		{"older", shards, empty, store.ErrFormat},
		{"version", shards, empty, ErrManifest},
		{"damaged", shards, empty, ErrManifest},
		{"foreign", shards, empty, ErrManifest},
		{"none", shards, empty, ErrNoBackup},
	} {
		if _, _, err := Restore(t.Context(), c.into, d, RestoreOptions{Name: c.name, Shards: c.shards}); !errors.Is(err, c.want) {
			t.Errorf("restoring %s returned %v, want %v", c.name, err, c.want)
		}
	}
	if _, _, err := Restore(t.Context(), empty, NewDir(t.TempDir()), RestoreOptions{Name: "b", Shards: shards}); !errors.Is(err, ErrNoDestination) {
		t.Errorf("restoring from an empty directory returned %v", err)
	}
	must(t, (&restorer{store: empty, opts: RestoreOptions{Shards: shards}}).checkEmpty(t.Context()))
}

func TestCreateRefuses(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	create(t, st, d, "b")
	try := func(d Destination, name string, shards int) error {
		_, err := Create(t.Context(), st, d, CreateOptions{Name: name, Shards: shards})
		return err
	}
	if err := try(d, "b", shards); !errors.Is(err, ErrExists) {
		t.Errorf("a second backup of the same name returned %v", err)
	}
	for _, name := range []string{"", "a/b", "../a", ".a", "-a", strings.Repeat("a", 101)} {
		if err := try(d, name, shards); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	must(t, st.AddChannel(t.Context(), store.Channel{PV: "other", Shards: []int{7}}))
	if err := try(d, "few", shards); err == nil || !strings.Contains(err.Error(), "shard 7") {
		t.Errorf("a backup of too few shards returned %v", err)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600))
	if err := try(NewDir(dir), "b", 8); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a backup into a directory with other files returned %v", err)
	}
	must(t, try(d, "many", 8))
}

func TestRemove(t *testing.T) {
	st := archive(t)
	d := NewDir(t.TempDir())
	create(t, st, d, "first")
	must(t, st.PutBlocks(t.Context(), numbers(t, "F:003", store.Day.Of(time.Now().UnixNano()), 100)))
	second := create(t, st, d, "second")
	if _, err := Remove(t.Context(), d, "third"); !errors.Is(err, ErrNoBackup) {
		t.Errorf("deleting a missing backup returned %v", err)
	}
	must(t, d.Put(t.Context(), runningPrefix+"third", nil))
	if _, err := Remove(t.Context(), d, "first"); !errors.Is(err, ErrRunning) {
		t.Errorf("deleting while a backup is made returned %v", err)
	}
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(d.file(runningPrefix+"third"), long, long))
	must(t, d.Put(t.Context(), manifestObject("broken"), []byte("x")))
	if _, err := Remove(t.Context(), d, "first"); !errors.Is(err, ErrManifest) {
		t.Errorf("deleting with a broken manifest returned %v", err)
	}
	names, err := Older(t.Context(), d, 1)
	must(t, err)
	if !slices.Equal(names, []string{"first"}) {
		t.Errorf("older backups are %v", names)
	}
	n, writes := packsIn(t, d), 0
	if _, err := Remove(t.Context(), failing{d, &writes, 4, false}, "first", "broken"); !errors.Is(err, errKilled) {
		t.Errorf("an interrupted deletion returned %v", err)
	}
	removed, err := Remove(t.Context(), d)
	must(t, err)
	if int(removed.Packs) >= n || packsIn(t, d) != len(second.Packs) {
		t.Errorf("%d of %d packs were removed; the other backup needs %d", removed.Packs, n, len(second.Packs))
	}
	_, report, err := Verify(t.Context(), d, "second", VerifyOptions{Deep: true})
	must(t, err)
	if report.Count > 0 {
		t.Errorf("the other backup is damaged: %v", report.Problems)
	}
	if _, err := d.Get(t.Context(), runningPrefix+"third", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old announcement stayed: %v", err)
	}
}
