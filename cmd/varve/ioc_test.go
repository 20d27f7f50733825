package main

import (
	"slices"
	"testing"
)

func TestHostsWithoutAPortGetTheBeaconPort(t *testing.T) {
	got := withPort([]string{"10.1.255.255", "10.2.255.255:6065"}, caRepeaterPort)
	if want := []string{"10.1.255.255:5065", "10.2.255.255:6065"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
