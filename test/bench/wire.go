package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/archive"
)

// wire compares Varve's client of a protocol with the reference client. In one part, the
// clients subscribe to a real IOC whose PVs all change ten times per second. In the other
// part, they search for PVs that no server has.
func (b *bench) wire(ctx context.Context, provider capture.Provider) error {
	b.logf("building the clients with libca and PVXS")
	c, err := buildClients(ctx, b.dir)
	if err != nil {
		return err
	}
	channels, reference, of := b.wireChannels, c.libca, "of libca, this run"
	if provider == capture.PVA {
		channels, reference, of = b.wireChannels/10, c.pvxs, "of PVXS, this run" // an IOC needs ten times the CPU for pvAccess
	}
	if err := b.subscribe(ctx, c, provider, channels, reference, of); err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	if err := b.search(ctx, c, provider, reference, of); err != nil {
		return fmt.Errorf("searching: %w", err)
	}
	return nil
}

// wireCA and wirePVA run wire for Channel Access and for pvAccess.
func (b *bench) wireCA(ctx context.Context) error  { return b.wire(ctx, capture.CA) }
func (b *bench) wirePVA(ctx context.Context) error { return b.wire(ctx, capture.PVA) }

// subscribe runs the clients one after another against one IOC.
func (b *bench) subscribe(ctx context.Context, c clients, provider capture.Provider, channels int, reference, of string) (err error) {
	ioc, env, err := b.startIOC(ctx, c.python, channels)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, ioc.kill()) }()
	seconds := int(b.seconds.Seconds())
	results := map[string]counted{}
	for _, program := range []string{reference, c.varve} {
		b.logf("%s: %d PVs of a real IOC at 10 Hz by %v", filepath.Base(program), channels, provider)
		r, err := runClient(ctx, env, program, iocFormat, channels, seconds, provider.String())
		if err != nil {
			return err
		}
		if r.connected == 0 {
			return errors.New("not all PVs were connected")
		}
		results[program] = r
	}
	name := "wire." + provider.String()
	ours, theirs := results[c.varve], results[reference]
	b.report.speed(name+".connect_rate", "PVs/s", float64(channels)/ours.connected, float64(channels)/theirs.connected, of)
	b.report.speed(name+".events", "events/s", ours.events/float64(seconds), theirs.events/float64(seconds), of)
	b.report.cost(name+".client_cpu", "µs/event", ours.cpu/ours.events, theirs.cpu/theirs.events, of)
	full, err := b.archive(ctx, ioc, env, provider, channels)
	if err != nil {
		return err
	}
	b.report.speed(name+".archived", "samples/s", full.stored, 0, "")
	b.report.cost(name+".engine_cpu", "µs/event", full.cpu, theirs.cpu/theirs.events, of+", which stores nothing")
	b.report.cost(name+".read", "samples", full.read, 0, "")
	b.report.cost(name+".lost", "steps", full.lost, 0, "")
	b.report.cost(name+".unmarked", "steps", full.unmarked, 0, "")
	return nil
}

const iocFormat = "B:%05d"

// startIOC starts a real IOC on loopback, and returns its process and the environment of its
// clients.
func (b *bench) startIOC(ctx context.Context, python string, channels int) (*process, []string, error) {
	db := filepath.Join(b.dir, "wire.db")
	if err := os.WriteFile(db, []byte(archive.Counting(archive.Names("B:", channels))), 0o600); err != nil {
		return nil, nil, err
	}
	ca, err := freeAddr()
	if err != nil {
		return nil, nil, err
	}
	pva, err := freeAddr()
	if err != nil {
		return nil, nil, err
	}
	_, caPort, _ := net.SplitHostPort(ca)
	_, pvaPort, _ := net.SplitHostPort(pva)
	client := []string{
		"EPICS_CA_ADDR_LIST=" + ca, "EPICS_CA_AUTO_ADDR_LIST=NO",
		"EPICS_PVA_ADDR_LIST=", "EPICS_PVA_AUTO_ADDR_LIST=NO", "EPICS_PVA_NAME_SERVERS=" + pva,
	}
	p, err := start(b.dir, "ioc", append([]string{
		"EPICS_CAS_INTF_ADDR_LIST=127.0.0.1", "EPICS_CAS_SERVER_PORT=" + caPort, "EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1",
		"EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO", "EPICS_PVAS_INTF_ADDR_LIST=127.0.0.1", "EPICS_PVAS_SERVER_PORT=" + pvaPort,
		"EPICS_PVAS_BEACON_ADDR_LIST=127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST=NO",
	}, client...), "sh", "-c", `sleep 3600 | exec "$0" -u -m pvxslibs.ioc -d "$1"`, python, db)
	if err != nil {
		return nil, nil, err
	}
	up := func() bool {
		conn, err := net.Dial("tcp4", ca)
		return err == nil && conn.Close() == nil
	}
	if err := await(ctx, "the IOC accepts connections", time.Minute, up); err != nil {
		return nil, nil, firstOf(err, p.kill())
	}
	return p, client, nil
}

// searchNames is the number of PVs without a server for which the clients search.
const searchNames = 20_000

// search counts the datagrams that clients send while they search for PVs that no server has.
func (b *bench) search(ctx context.Context, c clients, provider capture.Provider, reference, of string) error {
	seconds := max(30, int(b.seconds.Seconds()))
	rates := map[string]float64{}
	for _, program := range []string{reference, c.varve} {
		b.logf("%s: searching for %d PVs without a server by %v, %d s", filepath.Base(program), searchNames, provider, seconds)
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		var datagrams atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			buf := make([]byte, 1<<16)
			for {
				if _, _, err := conn.ReadFromUDPAddrPort(buf); err != nil {
					return // closed below
				}
				datagrams.Add(1)
			}
		}()
		prefix := "EPICS_" + strings.ToUpper(provider.String())
		_, err = runClient(ctx, []string{
			prefix + "_ADDR_LIST=" + conn.LocalAddr().String(), prefix + "_AUTO_ADDR_LIST=NO",
		}, program, "NOBODY:%05d", searchNames, seconds, provider.String())
		_ = conn.Close()
		<-done
		if err != nil {
			return err
		}
		rates[program] = float64(datagrams.Load()) / float64(seconds)
	}
	b.report.cost("wire."+provider.String()+".search_"+strconv.Itoa(searchNames), "datagrams/s", rates[c.varve], rates[reference], of)
	return nil
}
