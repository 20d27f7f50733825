package cassandra

import (
	"fmt"
	"net"
)

// freePorts returns n ports of host that nothing listens on now.
func freePorts(host string, n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer l.Close() // all are held until the last one is found
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
