package epics

import (
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
