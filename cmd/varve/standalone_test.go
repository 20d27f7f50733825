package main

import (
	"net"
	"testing"
)

// TestURLReachesTheListener checks that the URL in the hints of the demo is one that a client can use,
// also if the server listens at all addresses.
func TestURLReachesTheListener(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80",
		"10.0.0.1:80": "http://10.0.0.1:80", "[::1]:80": "http://[::1]:80",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		if got := urlOf(addr); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}
