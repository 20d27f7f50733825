package lab

import (
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

// Kill kills the Varve process in a pod with SIGKILL, which simulates a crash. It returns the
// time of the kill. The pod's processes must be visible on this machine. This is the case in a
// bare cluster and in kind.
func Kill(pod string) time.Time {
	GinkgoHelper()
	procs, err := filepath.Glob("/proc/[0-9]*/environ")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range procs {
		env, _ := os.ReadFile(path) // fails if the process has just ended
		if !slices.Contains(strings.Split(string(env), "\x00"), "HOSTNAME="+pod) {
			continue
		}
		if exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe")); filepath.Base(exe) != "varve" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		return time.Now()
	}
	Fail("no process of " + pod + " runs on this machine")
	return time.Time{}
}
