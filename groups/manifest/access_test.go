package manifest

import (
	"strings"
	"testing"
)

// TestAccessIsValidated checks that spec.retrieval.access refuses what a pod would refuse when it
// starts, and says what would be right.
func TestAccessIsValidated(t *testing.T) {
	c := archivers(t)
	for _, tc := range []struct{ access, want string }{
		{"authenticators: [{anonymous: {}}]", ""},
		{"authenticators: []", "spec.retrieval.access.authenticators"},
		{"readers: []", "spec.retrieval.access.authenticators: Required value"},
		{"authenticators: [{}]", "exactly one of the fields in [anonymous tokens networks jwt kubernetes trustedProxy] must be set"},
		{"authenticators: [{anonymous: {}, kubernetes: {}}]", "exactly one of the fields in [anonymous tokens networks jwt kubernetes trustedProxy] must be set"},
		{"authenticators: [{anonymous: {}}, {anonymous: {}}]", "authenticators may have anonymous, networks and kubernetes at most once each"},
		{"authenticators: [{tokens: {}}]", "spec.retrieval.access.authenticators[0].tokens.secretRef: Required value"},
		{"authenticators: [{tokens: {secretRef: {name: a}}}, {tokens: {secretRef: {name: b}}}]", ""},
		{"authenticators: [{networks: [{cidr: 10.1.0.0/16}, {cidr: 'fd00::/8'}]}]", ""},
		{"authenticators: [{networks: [{cidr: 10.1.2.3/16}]}]", "cidr must be a network such as 10.1.0.0/16, with zeros after the prefix"},
		{"authenticators: [{networks: [{cidr: 10.1.2.3}]}]", "cidr must be a network such as 10.1.0.0/16, with zeros after the prefix"},
		{"authenticators: [{networks: []}]", "spec.retrieval.access.authenticators[0].networks"},
		{"authenticators: [{jwt: {issuer: 'https://login.example.org/realms/lab', audience: varve, clockSkew: 300s}}]", ""},
		{"authenticators: [{jwt: {issuer: 'http://login.example.org', audience: varve}}]", "spec.retrieval.access.authenticators[0].jwt.issuer"},
		{"authenticators: [{jwt: {issuer: 'https://login.example.org'}}]", "spec.retrieval.access.authenticators[0].jwt.audience: Required value"},
		{"authenticators: [{jwt: {issuer: 'https://a', audience: v, clockSkew: 6m}}]", "clockSkew must be at most 5m, such as 30s"},
		{"authenticators: [{jwt: {issuer: 'https://a', audience: v, algorithms: [HS256]}}]", `Unsupported value: "HS256"`},
		{"authenticators: [{trustedProxy: {certificate: p}}]", "trustedProxy requires tls.clientCASecretRef"},
		{"authenticators: [{trustedProxy: {certificate: p}}], tls: {secretRef: {name: s}}", "trustedProxy requires tls.clientCASecretRef"},
		{"authenticators: [{trustedProxy: {certificate: p}}], tls: {secretRef: {name: s}, clientCASecretRef: {name: c}}", ""},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:*'], groups: [a]}]", "readers require default"},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:*'], groups: [a]}], default: {nobody: true}", ""},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:*']}], default: {nobody: true}", "a rule of readers requires groups, users or everybody: true"},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:*'], everybody: false}], default: {nobody: true}", "a rule of readers requires groups, users or everybody: true"},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:'], users: [a]}], default: {nobody: true}", "write * at its end for all PVs that begin so"},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:I.VAL'], users: [a]}], default: {nobody: true}", "write names of PVs without ca://, pva://, .VAL, .* and spaces"},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:I.*'], users: [a]}], default: {nobody: true}", "write names of PVs without ca://, pva://, .VAL, .* and spaces"},
		{"authenticators: [{kubernetes: {}}], readers: [{pvs: [], users: [a]}], default: {nobody: true}", "spec.retrieval.access.readers[0].pvs"},
		{"authenticators: [{kubernetes: {}}], default: {}", "default must be {everybody: true}, {nobody: true}, or have groups or users"},
		{"authenticators: [{kubernetes: {}}], default: {nobody: true, users: [a]}", "default must be {everybody: true}, {nobody: true}, or have groups or users"},
		{"authenticators: [{kubernetes: {}}], default: {users: ['" + strings.Repeat("ä", 129) + "']}", "names have at most 256 bytes"},
		{"authenticators: [{kubernetes: {}}], hosts: ['https://a']", "spec.retrieval.access.hosts[0]"},
		{"authenticators: [{kubernetes: {}}], origins: ['https://a/b']", "spec.retrieval.access.origins[0]"},
		{"authenticators: [{kubernetes: {}}], audit: File", `spec.retrieval.access.audit: Unsupported value: "File"`},
	} {
		errs := c.validate(archiver(t, c, "main", "storage: {embedded: {}}, retrieval: {access: {"+tc.access+"}}"))
		if (tc.want == "") != (len(errs) == 0) || (tc.want != "" && !mention(errs, tc.want)) {
			t.Errorf("%s: %v\nwant: %s", tc.access, errs, tc.want)
		}
	}
}
