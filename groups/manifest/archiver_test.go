package manifest

import (
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// archivers checks Archivers as an API server does.
func archivers(t *testing.T) *checker {
	t.Helper()
	definition, err := os.ReadFile("../../charts/varve-operator/files/crds/varve.dev_archivers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newChecker(definition)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// archiver returns an object, with the defaults of the schema.
func archiver(t *testing.T, c *checker, name, spec string) map[string]any {
	t.Helper()
	text := "apiVersion: varve.dev/v1alpha1\nkind: Archiver\nmetadata: {namespace: ops, name: " + name + "}\nspec: {" + spec + "}\n"
	obj, err := split([]byte(text))[0].decode()
	if err != nil {
		t.Fatal(err)
	}
	defaulting.Default(obj, c.structural)
	return obj
}

func TestArchiversAreValidated(t *testing.T) {
	const (
		external = "storage: {cassandra: {external: {contactPoints: ['cassandra:9042']}}}"
		embedded = "storage: {embedded: {}}"
	)
	c := archivers(t)
	for _, tc := range []struct{ name, spec, want string }{
		{"main", external, ""},
		{"main", embedded, ""},
		{"main", external + ", engines: {replicas: 20}, shards: 4096", ""},
		{"main", embedded + ", engines: {replicas: 0}", ""},
		{strings.Repeat("a", 40), embedded, ""},
		{strings.Repeat("a", 41), embedded, "metadata.name must have at most 40 lower-case letters"},
		{"ring.vacuum", embedded, "metadata.name must have at most 40 lower-case letters"},
		{"2ring", embedded, "metadata.name must have at most 40 lower-case letters"},
		{"main", "storage: {}", "spec.storage: Invalid value: exactly one of the fields in [cassandra embedded] must be set"},
		{"main", "storage: {embedded: {}, cassandra: {external: {contactPoints: [a]}}}", "spec.storage: Invalid value: exactly one of the fields in [cassandra embedded] must be set"},
		{"main", "storage: {cassandra: {}}", "spec.storage.cassandra: Invalid value: exactly one of the fields in [managed external] must be set"},
		{"main", "storage: {cassandra: {external: {contactPoints: []}}}", "spec.storage.cassandra.external.contactPoints"},
		{"main", "engines: {}", "spec.storage: Required value"},
		{"main", embedded + ", engines: {replicas: 2}", "spec.engines.replicas: Invalid value: storage.embedded allows one engine"},
		{"main", embedded + ", shards: 0", "spec.shards"},
		{"main", embedded + ", shards: 4097", "spec.shards"},
		{"main", external + ", rebalance: Sometimes", `spec.rebalance: Unsupported value: "Sometimes"`},
		{"main", external + ", epics: {caAddrList: ['a b']}", "spec.epics.caAddrList[0]"},
		{"main", external + ", epics: {pvaNameServers: ['a b']}", "spec.epics.pvaNameServers[0]"},
		{"main", external + ", epics: {defaultProvider: PVA, pvaAddrList: [10.1.2.3, 'ioc:5076'], pvaNameServers: [gw]}", ""},
		{"main", external + ", retrieval: {service: {type: LoadBalancer}}", "spec.retrieval.access: Invalid value: a Service of type NodePort or LoadBalancer"},
		{"main", external + ", retrieval: {service: {type: NodePort}}", "with {authenticators: [{anonymous: {}}]} everybody may read"},
		{"main", external + ", retrieval: {service: {type: NodePort}, access: {authenticators: [{anonymous: {}}]}}", ""},
		{"main", external + ", retrieval: {service: {type: ClusterIP}}", ""},
		{"main", external + ", retrieval: {readThrough: 'http://appliance:17668/retrieval'}", ""},
		{"main", embedded + ", retrieval: {readThrough: 'https://[fd00::1]:17668'}", ""},
		{"main", external + ", retrieval: {readThrough: 'json:http://archive:9812/archive-access/api/1.0;key=2'}", ""},
		{"main", external + ", retrieval: {readThrough: 'http://appliance:17668/retrieval', readThroughNames: 3000000}", ""},
		{"main", external + ", retrieval: {readThrough: 'http://appliance:17668/retrieval', readThroughNames: 0}", "spec.retrieval.readThroughNames"},
		{"main", external + ", retrieval: {readThroughNames: 3000000}", "spec.retrieval.readThroughNames: Invalid value: readThroughNames is about the older archive: set readThrough"},
		{"main", external + ", retrieval: {readThrough: 'https://varve:17665', readThroughSecretRef: {name: older}}", ""},
		{"main", external + ", retrieval: {readThroughSecretRef: {name: older}}", "spec.retrieval.readThroughSecretRef: Invalid value: readThroughSecretRef is about the older archive: set readThrough"},
		{"main", external + ", retrieval: {readThrough: 'ftp://appliance'}", "readThrough must be the address of an archive without user name and parameters"},
		{"main", external + ", retrieval: {readThrough: 'http://appliance/retrieval;key=1'}", "readThrough must be the address"},
		{"main", external + ", retrieval: {readThrough: 'json:http://archive/api?key=1'}", "readThrough must be the address"},
		{"main", external + ", retrieval: {readThrough: 'json:http://ann:secret@archive/api'}", "readThrough must be the address"},
		{"main", external + ", engines: {hostNetwork: true}", ""},
		{"main", embedded + ", engines: {hostNetwork: true}", "spec.retrieval.access: Invalid value: with storage.embedded and engines.hostNetwork"},
		{"main", embedded + ", engines: {hostNetwork: true}, retrieval: {access: {authenticators: [{anonymous: {}}]}}", ""},
		{"main", external + ", networkPolicy: {readers: {namespaces: [ingress], cidrs: [10.1.0.0/16, 'fd00::/8']}, metrics: {namespaces: [monitoring]}}", ""},
		{"main", external + ", networkPolicy: {}", "spec.networkPolicy"},
		{"main", external + ", networkPolicy: {readers: {}}", "spec.networkPolicy.readers"},
		{"main", external + ", networkPolicy: {readers: {cidrs: [10.1.2.3/16]}}", "cidr must be a network such as 10.1.0.0/16, with zeros after the prefix"},
		{"main", external + ", networkPolicy: {metrics: {namespaces: ['*']}}", "spec.networkPolicy.metrics.namespaces[0]"},
		{"main", external + ", upgrade: {finalize: Automatic, finalizeAfter: 14d}", ""},
		{"main", external + ", upgrade: {finalize: Automatic, finalizeAfter: 0s}", ""},
		{"main", external + ", upgrade: {finalizeAfter: 7d}", "spec.upgrade.finalizeAfter: Invalid value: finalizeAfter is for finalize: Automatic"},
		{"main", external + ", upgrade: {finalize: Automatic, finalizeAfter: soon}", "spec.upgrade.finalizeAfter"},
		{"main", external + ", upgrade: {finalize: Never}", `spec.upgrade.finalize: Unsupported value: "Never"`},
		{"main", embedded + ", upgrade: {finalize: Manual}", ""},
		{"main", embedded + ", upgrade: {finalize: Automatic}", "spec.upgrade.finalize: Invalid value: the operator cannot finalize an archive on a volume"},
		{"main", external + ", epics: {defaultProvider: TCP}", `spec.epics.defaultProvider: Unsupported value: "TCP"`},
	} {
		errs := c.validate(archiver(t, c, tc.name, tc.spec))
		if (tc.want == "") != (len(errs) == 0) || (tc.want != "" && !mention(errs, tc.want)) {
			t.Errorf("%s, %s: %v\nwant: %s", tc.name, tc.spec, errs, tc.want)
		}
	}
}

func TestImmutableFieldsOfAnArchiver(t *testing.T) {
	const external = "cassandra: {external: {contactPoints: [a]}, keyspace: ring}"
	c := archivers(t)
	for _, tc := range []struct{ from, to, want string }{
		{"storage: {embedded: {}}, shards: 64", "storage: {embedded: {}}, shards: 64, engines: {replicas: 0}", ""},
		{"storage: {embedded: {}}", "storage: {embedded: {}}, shards: 128", "shards cannot be changed"},
		{"storage: {embedded: {}}", "storage: {" + external + "}", "storage cannot be changed from cassandra to embedded or back"},
		{"storage: {" + external + "}", "storage: {cassandra: {external: {contactPoints: [a]}, keyspace: other}}", "keyspace cannot be changed"},
		{"storage: {" + external + "}", "storage: {cassandra: {external: {contactPoints: [b, c]}, keyspace: ring}}", ""},
		{"storage: {embedded: {size: 10Gi}}", "storage: {embedded: {size: 20Gi}}", "size cannot be changed"},
	} {
		from, to := archiver(t, c, "main", tc.from), archiver(t, c, "main", tc.to)
		broken, _ := c.rules.Validate(context.Background(), nil, c.structural, to, runtime.DeepCopyJSON(from), celconfig.RuntimeCELCostBudget)
		var errs []error
		for _, err := range broken {
			errs = append(errs, err)
		}
		if (tc.want == "") != (len(errs) == 0) || (tc.want != "" && !mention(errs, tc.want)) {
			t.Errorf("from %s to %s: %v\nwant: %s", tc.from, tc.to, errs, tc.want)
		}
	}
}
