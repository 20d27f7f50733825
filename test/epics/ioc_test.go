package epics

import (
	"fmt"
	"strings"
	"testing"
)

const readOne = `
import sys
from caproto.sync.client import read
print(read(sys.argv[1], timeout=10, repeater=False).data[0])
`

func TestIOCAnswersAndComesBack(t *testing.T) {
	ioc := StartIOC(t, `record(longout, "T:ONE") { field(VAL, "42") field(PINI, "YES") }`)
	for _, again := range []func(){func() {}, ioc.Restart, func() { ioc.Kill(); ioc.Start() }} {
		again()
		if got := strings.TrimSpace(string(ioc.Run(readOne, "T:ONE"))); got != "42" {
			t.Errorf("an independent client reads %q, want 42", got)
		}
	}
}

const searchOne = `
import os, sys
del os.environ["EPICS_PVA_NAME_SERVERS"]
from p4p.client.thread import Context
with Context("pva") as c:
    print(int(c.get(sys.argv[1], timeout=30)))
`

func TestClientsFindOnlyTheirIOC(t *testing.T) {
	var iocs []*IOC
	for i := range 3 {
		iocs = append(iocs, StartIOC(t, fmt.Sprintf(`record(longout, "T:SAME") { field(VAL, "%d") field(PINI, "YES") }`, i)))
	}
	for i, ioc := range iocs {
		if got := strings.TrimSpace(string(ioc.Run(searchOne, "T:SAME"))); got != fmt.Sprint(i) {
			t.Errorf("a client of IOC %d reads %s", i, got)
		}
	}
}
