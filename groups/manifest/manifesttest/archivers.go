package manifesttest

import (
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

const (
	external = "storage: {cassandra: {external: {contactPoints: ['cassandra:9042']}}}"
	embedded = "storage: {embedded: {}}"
)

// managed returns the storage of an Archiver whose Cassandra the operator runs.
func managed(settings string) string { return "storage: {cassandra: {managed: {" + settings + "}}}" }

func archiver(name, spec string) string {
	return "apiVersion: varve.dev/v1alpha1\nkind: Archiver\nmetadata: {namespace: ops, name: " + name + "}\nspec: {" + spec + "}\n"
}

// Archivers are Archivers, valid and invalid ones.
func Archivers() (all []Case) {
	for _, c := range archivers {
		all = append(all, Case{Kind: v1alpha1.KindArchiver, Manifest: archiver(c.name, c.spec), Want: c.want})
	}
	for _, c := range access {
		spec := embedded + ", retrieval: {access: {" + c.access + "}}"
		all = append(all, Case{Kind: v1alpha1.KindArchiver, Manifest: archiver("main", spec), Want: c.want})
	}
	return all
}

var archivers = []struct{ name, spec, want string }{
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
	{"main", external + ", engines: {autoscaling: {maxReplicas: 2}}", ""},
	{"main", embedded + ", engines: {autoscaling: {maxReplicas: 2}}", "storage.embedded allows one engine: remove engines.autoscaling"},
	{"main", external + ", engines: {autoscaling: {maxReplicas: 65}}", "maxReplicas must be at most spec.shards"},
	{"main", external + ", engines: {autoscaling: {minReplicas: 3, maxReplicas: 2}}", "minReplicas must be at most maxReplicas"},
	{"main", external + ", engines: {autoscaling: {maxReplicas: 2}, resources: {requests: {memory: 1Gi}}}", "autoscaling requires resources.requests.cpu"},
	{"main", external + ", engines: {spoolSize: 1Mi}", "spoolSize must be 0 or at least 64Mi"},
	{"main", external + ", engines: {spoolSize: 0}", ""},
	{"main", "storage: {embedded: {}, diskLimit: 512Mi}", "diskLimit must be at least 1Gi"},
	{"main", "storage: {embedded: {}, diskLimit: 8Gi, diskGuard: {keepAtLeast: 12h}}", "keepAtLeast must be a number of days, weeks or years, such as 30d"},
	{"main", managed(""), ""},
	{"main", managed("version: 4.1.5"), "version must be 5.0 or newer"},
	{"main", managed("racks: [{name: a}, {name: b}, {name: c}], size: 2"), "size must be at least the number of racks"},
	{"main", managed("size: 2, replicationFactor: 3"), "replicationFactor must be at most size"},
	{"main", managed("heapSize: 128Mi"), "heapSize must be at least 256Mi"},
	{"main", managed("heapSize: 4Gi, resources: {limits: {memory: 4Gi}}"), "heapSize must be less than resources.limits.memory"},
	{"main", managed("operator: CassOperator, medusa: {storageProperties: {storageProvider: s3}}"), "medusa and reaper require operator K8ssandra"},
}

// access are values of spec.retrieval.access. An invalid one is what a pod would refuse when it starts.
var access = []struct{ access, want string }{
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
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, login: {}}}, {jwt: {issuer: 'https://b', audience: v}}]", ""},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, login: {clientID: web, scopes: [openid, groups]}}}]", ""},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, login: {}}}, {jwt: {issuer: 'https://b', audience: v, login: {}}}]", "only one authenticator may have jwt.login"},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, login: {scopes: [profile]}}}]", "scopes must contain openid"},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, login: {scopes: ['openid profile']}}}]", "spec.retrieval.access.authenticators[0].jwt.login.scopes[0]"},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, login: {clientID: 'a b'}}}]", "spec.retrieval.access.authenticators[0].jwt.login.clientID"},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: 'a b', login: {}}}]", "login requires clientID, because the audience has spaces"},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: 'a b', login: {clientID: a}}}]", ""},
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
	{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:*'], groups: [a]}]", "readers require default, which says who may read all other PVs"},
	{"authenticators: [{kubernetes: {}}], readers: [{pvs: ['SR:'], users: [a]}], default: {nobody: true}", "a name that ends in ':', '-', '_', '/' or '.' is one PV: write * at its end"},
	{"authenticators: [{jwt: {issuer: 'https://a', audience: v, clockSkew: 9999999999s}}]", "a duration must have at most 12 digits of ms"},
}
