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

// Kill kills the process of Varve in a pod, as a crash does, and returns when. Nodes
// must be processes of this machine, as they are in a bare cluster and in Kind.
func Kill(pod string) time.Time {
	GinkgoHelper()
	procs, err := filepath.Glob("/proc/[0-9]*/environ")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range procs {
		env, _ := os.ReadFile(path) // unless it has just ended
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
