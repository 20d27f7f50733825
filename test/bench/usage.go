package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// cpuSeconds returns the CPU time of this process in seconds.
func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for RUSAGE_SELF
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// cpuSecondsOf returns the CPU time of another running process in seconds, or 0 if the system
// does not provide it.
func cpuSecondsOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	const ticks = 100 // per second, on every Linux
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// usage is the CPU time of this process and of Cassandra in seconds.
type usage struct{ client, server float64 }

func (n *node) usage() usage { return usage{cpuSeconds(), cpuSecondsOf(n.process.cmd.Process.Pid)} }

// since returns the CPU time that was used since an earlier call of node.usage. before is the
// result of that call.
func (u usage) since(before usage) usage {
	return usage{u.client - before.client, u.server - before.server}
}

// cpu adds the CPU times per sample. Other programs on the machine affect CPU times less than
// rates.
func (r *report) cpu(name string, u usage, samples float64) {
	r.cost(name+"_cpu", "µs/sample", u.client*1e6/samples, 0, "")
	r.cost(name+"_cpu_cassandra", "µs/sample", u.server*1e6/samples, 0, "")
}
