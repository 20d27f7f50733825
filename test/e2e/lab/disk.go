package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// FillDisk mounts a full file system over a folder of a pod's container, so that no file can be
// created there until free is called. The mount hides the folder's files. So FillDisk returns an error
// if the folder has files whose names are not in hides, or if the pod's Varve process does not run on
// this machine.
func FillDisk(pod, dir string, hides ...string) (free func(), err error) {
	pid, found := process(pod)
	if !found {
		return nil, fmt.Errorf("no process of %s runs on this machine", pod)
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	below, err := os.Open(filepath.Join(proc, "root", dir)) // shows the folder's files also after the mount
	if err != nil {
		return nil, err
	}
	defer below.Close()
	mounts, err := os.Open(filepath.Join(proc, "ns", "mnt"))
	if err != nil {
		return nil, err
	}
	// The only inode is that of the folder itself.
	if err := amongMounts(mounts, func() error {
		return unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k,nr_inodes=1,mode=0777")
	}); err != nil {
		_ = mounts.Close()
		return nil, fmt.Errorf("mounting a full disk at %s of %s: %w", dir, pod, err)
	}
	free = sync.OnceFunc(func() {
		_ = amongMounts(mounts, func() error { return unix.Unmount(dir, unix.MNT_DETACH) }) // fails if the container is gone
		_ = mounts.Close()
	})
	files, err := below.Readdirnames(-1)
	files = slices.DeleteFunc(files, func(name string) bool { return slices.Contains(hides, name) })
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("%s of %s has the files %q", dir, pod, files)
	}
	if err != nil {
		free()
		return nil, err
	}
	return free, nil
}

// amongMounts calls f on a thread that sees the mounts of a mount namespace.
func amongMounts(namespace *os.File, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, because it is never unlocked
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}
