package circuit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"varve.dev/varve/ioc/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lineSpeaker is a Speaker for lines of text. It returns each line to the client. After the
// line "subscribe" it also sends the client a line per turn.
type lineSpeaker struct{ *Circuit }

var errRude = errors.New("the client is rude")

// Handle implements Speaker.
func (l *lineSpeaker) Handle(b []byte) (n int, err error) {
	for {
		line, _, ok := bytes.Cut(b[n:], []byte("\n"))
		if !ok {
			return n, nil
		}
		switch string(line) {
		case "subscribe":
			l.Subscribed(1)
		case "rude":
			return n, errors.Join(l.Write([]byte("bye\n")), errRude)
		default:
			_ = l.Write(append(bytes.Clone(line), '\n'))
		}
		n += len(line) + 1
	}
}

// Ready implements Speaker.
func (l *lineSpeaker) Ready() bool { return true }

// Send implements Speaker.
func (l *lineSpeaker) Send(turn, at int64) (sent int, err error) {
	return 1, l.Write(fmt.Appendf(nil, "turn %d at %v\n", turn, time.Duration(at)))
}

// Pass implements Speaker.
func (l *lineSpeaker) Pass(int64) (lost int) { return 2 }

// serve runs a circuit with a rate of 10 Hz and slices of 10 ms. It returns the client's end
// of the connection.
func serve(t *testing.T) (client net.Conn, counts *Counts, ended <-chan error) {
	counts = &Counts{}
	near, far := net.Pipe()
	c := New(Config{Schedule: sim.NewSchedule(time.Now(), 10), Counts: counts, MaxLag: time.Second}, far)
	done := make(chan error, 1)
	go func() { done <- c.Run(far, &lineSpeaker{Circuit: c}, 64) }()
	t.Cleanup(func() { near.Close() })
	return near, counts, done
}

func TestTurnsAreSentInTimeBetweenAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, counts, ended := serve(t)
		in := bufio.NewScanner(conn)
		fmt.Fprint(conn, "he")
		fmt.Fprint(conn, "llo\nsubscribe\nagain\n")
		for _, want := range []string{
			"hello", "again", "turn 11 at 110ms", "turn 12 at 120ms", "turn 13 at 130ms",
		} {
			if !in.Scan() || in.Text() != want {
				t.Fatalf("got line %q, want %q", in.Text(), want)
			}
		}
		if counts.Circuits() != 1 || counts.Subscriptions() != 1 || counts.Sent() != 3 {
			t.Errorf("%d circuits, %d subscriptions, %d updates sent", counts.Circuits(), counts.Subscriptions(), counts.Sent())
		}
		conn.Close()
		<-ended
		if counts.Circuits() != 0 || counts.Subscriptions() != 0 {
			t.Errorf("after the end there are %d circuits and %d subscriptions", counts.Circuits(), counts.Subscriptions())
		}
	})
}

// TestTurnsPastTheLagAreDropped lets a client sleep for 5 s. Of 500 turns, only the turns of
// the last second are sent, late.
func TestTurnsPastTheLagAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, counts, ended := serve(t)
		in := bufio.NewScanner(conn)
		fmt.Fprint(conn, "subscribe\n")
		in.Scan()
		time.Sleep(5 * time.Second)
		for in.Scan() && in.Text() < "turn 620" {
			continue
		}
		if n := counts.Dropped(); n < 780 || n > 820 {
			t.Errorf("%d updates dropped, want two for each of about 400 turns", n)
		}
		conn.Close()
		<-ended
	})
}

func TestErrorsOfTheSpeakerEndTheCircuit(t *testing.T) {
	conn, _, ended := serve(t)
	fmt.Fprint(conn, "rude\n")
	if b, err := io.ReadAll(conn); string(b) != "bye\n" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	if err := <-ended; !errors.Is(err, errRude) {
		t.Errorf("the circuit ended with %v", err)
	}
}
