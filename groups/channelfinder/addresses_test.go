package channelfinder

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// TestOperatorRefusesAddresses checks the addresses that the author of a group may not make the
// operator query. No connection is made, so the test needs no network.
func TestOperatorRefusesAddresses(t *testing.T) {
	allowed := Addresses{Refused: []netip.Addr{netip.MustParseAddr("10.96.0.1")}}
	for host, want := range map[string]string{
		"169.254.169.254":          "a link-local address",
		"[fe80::1%25eth0]":         "a link-local address",
		"[::ffff:169.254.169.254]": "a link-local address",
		"[64:ff9b::a9fe:a9fe]":     "a link-local address",
		"[64:ff9b:1::a9fe:a9fe]":   "a link-local address",
		"[::ffff:0:a9fe:a9fe]":     "a link-local address",
		"[2002:a9fe:a9fe::1]":      "a link-local address",
		"[2002:7f00:1::1]":         "the machine of the operator itself",
		"169.254.169.254.":         "a link-local address",
		"2852039166":               "an address in an unusual form",
		"127.1":                    "an address in an unusual form",
		"0xa9.0xfe.0xa9.0xfe":      "an address in an unusual form",
		"[fd00:ec2::254]":          "a metadata service",
		"100.100.100.200":          "a metadata service",
		"168.63.129.16":            "a metadata service",
		"10.96.0.1":                "the API server",
		"[::ffff:10.96.0.1]":       "the API server",
		"127.0.0.1":                "the machine of the operator itself",
		"127.8.8.8":                "the machine of the operator itself",
		"[::1]":                    "the machine of the operator itself",
		"localhost":                "the machine of the operator itself",
		"0.0.0.0":                  "the machine of the operator itself",
		"[::]":                     "the machine of the operator itself",
		"224.0.0.1":                "a multicast or broadcast address",
		"255.255.255.255":          "a multicast or broadcast address",
	} {
		c := NewRestrictedClient(allowed)
		_, err := c.Names(t.Context(), "http://"+host+":1/ChannelFinder", "~tag=a")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that contains %q", host, err, want)
		}
		c.Close()
	}
	for _, ip := range []string{"10.1.2.3", "192.0.2.7", "fd00::1", "10.96.0.2"} {
		if err := allowed.Check(netip.MustParseAddr(ip)); err != nil {
			t.Errorf("%s is refused: %v", ip, err)
		}
	}
}

// TestNamesAreCheckedAfterLookUp checks that a host name does not evade the rules: localhost is refused
// by its address, unless loopback is allowed. The service gets no request.
func TestNamesAreCheckedAfterLookUp(t *testing.T) {
	s := serve(t, tagged("archive", "SR:A")...)
	at, err := url.Parse(s.url())
	if err != nil {
		t.Fatal(err)
	}
	at.Host = net.JoinHostPort("localhost", at.Port())
	for _, loopback := range []bool{false, true} {
		c := NewRestrictedClient(Addresses{Loopback: loopback})
		names, err := c.Names(t.Context(), at.String(), "~tag=archive")
		s.mu.Lock()
		if (err == nil) != loopback || (len(names) == 1) != loopback || (len(s.requests) > 0) != loopback {
			t.Errorf("loopback allowed: %v: %q, %v, requests %q", loopback, names, err, s.requests)
		}
		s.mu.Unlock()
		c.Close()
	}
}

// TestErrorsContainNothingOfAnswers checks that the author of a group cannot read the answers of a
// service through the condition of the group, whatever the service answers.
func TestErrorsContainNothingOfAnswers(t *testing.T) {
	const secret = "TOPSECRET"
	for name, text := range map[string]string{
		"message":      "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n" + `{"message":"TOPSECRET"}`,
		"reason":       "HTTP/1.1 403 TOPSECRET\r\nContent-Length: 0\r\n\r\n",
		"banner":       "SSH-2.0-TOPSECRET\r\n",
		"header":       "HTTP/1.1 200 OK\r\nTOPSECRET\r\n\r\n",
		"version":      "HTTP/TOPSECRET 200 OK\r\n\r\n",
		"status":       "HTTP/1.1 TOPSECRET OK\r\n\r\n",
		"encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: TOPSECRET\r\n\r\n",
		"length":       "HTTP/1.1 200 OK\r\nContent-Length: TOPSECRET\r\n\r\n",
		"content type": "HTTP/1.1 200 OK\r\nContent-Type: text/TOPSECRET\r\nContent-Length: 2\r\n\r\n[]",
		"location":     "HTTP/1.1 302 Found\r\nLocation: http://TOPSECRET.example/\r\nContent-Length: 0\r\n\r\n",
		"bad location": "HTTP/1.1 302 Found\r\nLocation: http://[TOPSECRET\r\nContent-Length: 0\r\n\r\n",
		"string":       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n\"TOPSECRET\"",
		"not a name":   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n[\"TOPSECRET\"]",
		"object":       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"TOPSECRET\":1}",
		"long name": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", 13+9*30) +
			`[{"name":"` + strings.Repeat(secret, 30) + `"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Store(true)
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				if _, err := conn.Write([]byte(text)); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			_, err := client(t).Names(t.Context(), server.URL, "~tag=a")
			if err == nil || strings.Contains(strings.ToUpper(err.Error()), secret) || !asked.Load() {
				t.Errorf("error %v", err)
			}
		})
	}
}
