package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// cpuSeconds returns what this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for another who
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// cpuSecondsOf returns what another process has used that runs; 0 where the system
// does not tell.
func cpuSecondsOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	const ticks = 100 // a second, on all Linux
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// usage is the CPU that the store path took, in seconds: of this process, and of
// Cassandra.
type usage struct{ client, server float64 }

func (n *node) usage() usage { return usage{cpuSeconds(), cpuSecondsOf(n.process.cmd.Process.Pid)} }

// since returns what was used after another usage.
func (u usage) since(before usage) usage {
	return usage{u.client - before.client, u.server - before.server}
}

// cpu adds what a number of samples took. It depends less than rates on who else uses
// the machine.
func (r *report) cpu(name string, u usage, samples float64) {
	r.cost(name+"_cpu", "µs/sample", u.client*1e6/samples, 0, "")
	r.cost(name+"_cpu_cassandra", "µs/sample", u.server*1e6/samples, 0, "")
}
