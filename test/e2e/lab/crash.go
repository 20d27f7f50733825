package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Kill kills the Varve process in a pod with SIGKILL, which simulates a crash. If the container is just
// starting again, Kill waits for it. It returns the time of the kill. The pod's processes must be visible on this machine. This is the case in a
// bare cluster and in kind.
func Kill(pod string) time.Time {
	GinkgoHelper()
	pid, found := 0, false
	Eventually(func() bool { pid, found = process(pod); return found }).WithTimeout(Patience).
		Should(BeTrue(), "no process of %s runs on this machine", pod)
	Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	return time.Now()
}

// Write writes a file as the container of a pod sees it. It returns an error if the pod's Varve
// process does not run on this machine.
func Write(pod, path, text string) error {
	pid, found := process(pod)
	if !found {
		return fmt.Errorf("no process of %s runs on this machine", pod)
	}
	return os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), "root", path), []byte(text), 0o644)
}

// process returns the ID of the Varve process in a pod.
func process(pod string) (pid int, found bool) {
	procs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, path := range procs {
		env, _ := os.ReadFile(path) // fails if the process has just ended
		if !slices.Contains(strings.Split(string(env), "\x00"), "HOSTNAME="+pod) {
			continue
		}
		if exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe")); filepath.Base(exe) != "varve" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			return pid, true
		}
	}
	return 0, false
}
