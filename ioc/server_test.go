package ioc

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/varve/ioc/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// still is a configuration in which the PVs with index 0 stay at tick 1 during a test.
var still = Config{Channels: 2, Rate: 0.001, Elements: 5}

func stillSet() *sim.Set {
	s, err := still.Set()
	if err != nil {
		panic(err)
	}
	return s
}

// start runs a server of both protocols on free ports of the loopback interface until the test
// ends.
func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg.Listen, cfg.PVAListen = "127.0.0.1:0", "127.0.0.1:0"
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("running the server: %v", err)
		}
	})
	return s
}

func TestPortInUseIsReported(t *testing.T) {
	s := start(t, Config{Channels: 1})
	ca, pva := s.Addr().String(), s.PVAAddr().String()
	for addr, cfg := range map[string]Config{
		ca:  {Channels: 1, Listen: ca},
		pva: {Channels: 1, Listen: "127.0.0.1:0", PVAListen: pva},
	} {
		_, err := New(cfg)
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "the port is in use") ||
			!strings.Contains(err.Error(), addr) {
			t.Errorf("got %v", err)
		}
	}
}

func TestPortsAreFreeAgainAfterClose(t *testing.T) {
	s, err := New(Config{Channels: 1, Listen: "127.0.0.1:0", PVAListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(Config{Channels: 1, Listen: s.Addr().String(), PVAListen: s.PVAAddr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestPVAccessCanBeLeftOut(t *testing.T) {
	s, err := New(Config{Channels: 1, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.PVAAddr().IsValid() {
		t.Errorf("pvAccess is served at %v, want no pvAccess", s.PVAAddr())
	}
}
