package epics

import (
	"encoding/binary"
	"net"
	"testing"
	"time"
)

// These are messages of a CA client: the start of a circuit with VERSION and CREATE_CHAN, and a subscription by EVENT_ADD to the
// value of channel 0 with its control limits. An IOC counts the channels of a circuit from 0.
const (
	open = "\x00\x00\x00\x00\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x12\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0dT:N\x00\x00\x00\x00\x00"
	subscribe = "\x00\x01\x00\x10\x00\x22\x00\x01\x00\x00\x00\x00"
	value     = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00"
)

func TestReplacedUpdatesAreCounted(t *testing.T) {
	ioc := StartIOC(t, `record(calc, "T:N") { field(INPA, "T:N") field(CALC, "A+1") field(SCAN, ".1 second") }`)
	if n := ioc.Replaced("T:N"); n != 0 {
		t.Fatalf("without a client, %d updates are replaced", n)
	}
	conn, err := net.Dial("tcp4", ioc.CAAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	messages := []byte(open)
	for id := range uint32(2000) {
		messages = append(binary.BigEndian.AppendUint32(append(messages, subscribe...), id), value...)
	}
	if _, err := conn.Write(messages); err != nil {
		t.Fatal(err)
	}
	// The client reads nothing, so the buffers of the circuit fill, and then the IOC's queue.
	for deadline := time.Now().Add(time.Minute); ioc.Replaced("T:N") == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the IOC replaces no update for a client that reads nothing")
		}
	}
}
