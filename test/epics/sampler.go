package epics

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Value is the value of a numeric PV and its time by the IOC's clock, in ns since 1970.
type Value struct {
	Time  int64
	Value float64
}

// Sampler reads the present values of PVs over pvAccess with an independent client. It is not
// safe for concurrent use.
type Sampler struct {
	pvs     []string
	stdin   io.WriteCloser
	answers *bufio.Reader
}

// sampling reads a list of names. It answers each further line with the values of all PVs.
const sampling = `
import json, sys
from p4p.client.thread import Context
names = json.loads(sys.stdin.readline())
context = Context("pva")
while sys.stdin.readline():
    values = []
    for v in context.get(names, timeout=60, throw=False):
        if isinstance(v, Exception):
            sys.exit("reading a PV: " + repr(v))
        seconds, nanoseconds = v.raw_stamp
        values.append({"Time": seconds * 1000000000 + nanoseconds, "Value": float(v)})
    print(json.dumps(values), flush=True)
`

// StartSampler starts a sampler of PVs of the IOC. It ends when the test ends.
func (ioc *IOC) StartSampler(tb testing.TB, pvs []string) *Sampler {
	tb.Helper()
	cmd := exec.Command(Python(tb), "-u", "-c", sampling)
	cmd.Env = append(os.Environ(), ioc.ClientEnv()...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("starting a sampler: %v", err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close()
		late := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		_ = cmd.Wait() // it says on stderr why it ended early
	})
	names, err := json.Marshal(pvs)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := fmt.Fprintf(stdin, "%s\n", names); err != nil {
		tb.Fatalf("starting a sampler: %v", err)
	}
	return &Sampler{pvs: pvs, stdin: stdin, answers: bufio.NewReaderSize(stdout, 1<<20)}
}

// Read returns the present values of all PVs.
func (s *Sampler) Read() (map[string]Value, error) {
	if _, err := io.WriteString(s.stdin, "\n"); err != nil {
		return nil, fmt.Errorf("asking the sampler: %w", err)
	}
	line, err := s.answers.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("reading from the sampler: %w", err)
	}
	var values []Value
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, fmt.Errorf("decoding %d bytes from the sampler: %w", len(line), err)
	}
	if len(values) != len(s.pvs) {
		return nil, fmt.Errorf("the sampler returns %d values of %d PVs", len(values), len(s.pvs))
	}
	byPV := make(map[string]Value, len(values))
	for i, pv := range s.pvs {
		byPV[pv] = values[i]
	}
	return byPV, nil
}
