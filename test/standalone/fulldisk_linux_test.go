package standalone

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"varve.dev/varve/test/program"
)

// TestLong_FullDisk fills the disk of an embedded store while the archiver captures. The archiver must
// go on, say that the disk is full, and store all samples once there is space again.
func TestLong_FullDisk(t *testing.T) {
	start, dir := time.Now(), t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p := newFixture(t, 50)
	a := program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", filepath.Join(dir, "archive"), "--checkpoint", "2s", "--memory", "64Mi")
	begin := a.AwaitSamples(len(p.pvs))
	isFull := func() bool {
		_, body := a.Get("/api/v1/archive", nil)
		return bytes.Contains(body, []byte("DiskFull"))
	}
	if isFull() {
		t.Fatal("the disk is full too early")
	}

	ballast := filepath.Join(dir, "ballast")
	leaveFree(t, ballast, 6<<20)
	program.Eventually(t, "the archiver says that the disk is full", isFull)
	was := a.Summary()
	program.Eventually(t, "samples arrive and wait", func() bool {
		s := a.Summary()
		return s.Received >= was.Received+uint64(50*len(p.pvs)) && s.Pending > 0
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	received := a.Summary().Received
	program.Eventually(t, "the samples are stored", func() bool {
		s := a.Summary()
		return s.Stored+s.Dropped["duplicate"] >= received && !isFull()
	})
	checkAllRead(t, a, p, start, begin)
}

// leaveFree creates a file that takes the free space of its file system, except some bytes.
func leaveFree(t *testing.T, name string, bytes uint64) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(name), &fs); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(fs.Bavail*uint64(fs.Bsize)-bytes)); err != nil {
		t.Fatal(err)
	}
}
