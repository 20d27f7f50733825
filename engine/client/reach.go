package client

import (
	"fmt"
	"strings"

	"varve.dev/varve/engine/capture"
)

// maxListed limits the addresses in a text for users.
const maxListed = 8

// Reach says where the client searches. variables is the prefix of the protocol's environment
// variables, such as EPICS_CA.
func (k *Kernel) Reach(variables string) capture.Reach {
	var asked []string
	if to := k.socket.To.List(); len(to) > 0 {
		asked = append(asked, "by UDP "+joined(to))
	}
	if servers := k.nameServers.List(); len(servers) > 0 {
		asked = append(asked, "the name servers "+joined(servers))
	}
	r := capture.Reach{Asked: strings.Join(asked, ", ")}
	if failed := k.socket.To.Failed(); len(failed) > 0 {
		r.Problem = fmt.Sprintf("%s_ADDR_LIST has host names that cannot be resolved: %s", variables, joined(failed))
	}
	if len(asked) == 0 {
		r.Problem = fmt.Sprintf("there are no addresses to search: set %s_ADDR_LIST or %[1]s_NAME_SERVERS, or set %[1]s_AUTO_ADDR_LIST to YES", variables)
	}
	return r
}

// joined joins addresses for users. It leaves out some of many.
func joined(list []string) string {
	if n := len(list); n > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxListed], " "), n-maxListed)
	}
	return strings.Join(list, " ")
}
