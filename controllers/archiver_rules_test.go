package controllers_test

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
)

const goodArchiver = `
apiVersion: varve.dev/v1alpha1
kind: Archiver
metadata: {name: main}
spec:
  storage: {cassandra: {keyspace: plant, external: {contactPoints: [cassandra]}}}
`

const defaultKeyspace = `
apiVersion: varve.dev/v1alpha1
kind: Archiver
metadata: {name: main}
spec:
  storage: {cassandra: {external: {contactPoints: [cassandra]}}}
`

const embeddedArchiver = `
apiVersion: varve.dev/v1alpha1
kind: Archiver
metadata: {name: main}
spec:
  storage: {embedded: {}}
`

// The tests of package groups/manifest cover each validation rule of Archivers. These specs
// test how the API server applies the rules.
var _ = Describe("The API server", func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	DescribeTable("rejects an Archiver that cannot work", func(ctx SpecContext, manifest, path, value, message string) {
		Expect(k8s.Create(ctx, object(namespace, manifest, path, value))).To(MatchError(ContainSubstring(message)))
	},
		Entry("name", goodArchiver, "metadata.name", `"2nd"`, "at most 40 lower-case letters"),
		Entry("two storages", goodArchiver, "spec.storage.embedded", `{}`, "exactly one of the fields in [cassandra embedded]"),
		Entry("two embedded engines", embeddedArchiver, "spec.engines.replicas", `2`, "storage.embedded allows one engine: set engines.replicas to 1, or use storage.cassandra"),
		Entry("an autoscaled embedded archive", embeddedArchiver, "spec.engines.autoscaling", `{"maxReplicas":2}`, "spec.engines.autoscaling: Invalid value: storage.embedded allows one engine: remove engines.autoscaling"),
		Entry("no maxReplicas", goodArchiver, "spec.engines.autoscaling", `{}`, "spec.engines.autoscaling.maxReplicas: Required value"),
		Entry("min above max", goodArchiver, "spec.engines.autoscaling", `{"minReplicas":3,"maxReplicas":2}`, "spec.engines.autoscaling.minReplicas: Invalid value: minReplicas must be at most maxReplicas"),
		Entry("more engines than shards", goodArchiver, "spec.engines.autoscaling", `{"maxReplicas":65}`, "spec.engines.autoscaling.maxReplicas: Invalid value: maxReplicas must be at most spec.shards"),
		Entry("no CPU request for autoscaling", goodArchiver, "spec.engines", `{"autoscaling":{"maxReplicas":2},"resources":{"requests":{"memory":"1Gi"}}}`, "spec.engines.resources: Invalid value: autoscaling requires resources.requests.cpu"),
		Entry("a tiny spool", goodArchiver, "spec.engines.spoolSize", `"1Mi"`, "spoolSize must be 0 or at least 64Mi"),
		Entry("a tiny disk", goodArchiver, "spec.storage.diskLimit", `"512Mi"`, "diskLimit must be at least 1Gi"),
		Entry("an exposed archive without a choice", goodArchiver, "spec.retrieval.service.type", `"LoadBalancer"`, "spec.retrieval.access: Invalid value: a Service of type NodePort or LoadBalancer can be reached from outside of the cluster, so you must choose who may read: set retrieval.access; with {authenticators: [{anonymous: {}}]} everybody may read"),
		Entry("two authenticators in one", goodArchiver, "spec.retrieval.access", `{"authenticators":[{"anonymous":{},"kubernetes":{}}]}`, "exactly one of the fields in [anonymous tokens networks jwt kubernetes trustedProxy] must be set"),
		Entry("a network with bits after its prefix", goodArchiver, "spec.retrieval.access", `{"authenticators":[{"networks":[{"cidr":"10.1.2.3/16"}]}]}`, "cidr must be a network such as 10.1.0.0/16"),
		Entry("no choice in networkPolicy", goodArchiver, "spec.networkPolicy", `{"readers":{}}`, "spec.networkPolicy.readers"),
		Entry("an address in networkPolicy", goodArchiver, "spec.networkPolicy", `{"readers":{"cidrs":["10.1.2.3"]}}`, "cidr must be a network such as 10.1.0.0/16"),
		Entry("a name that no namespace has", goodArchiver, "spec.networkPolicy", `{"metrics":{"namespaces":["Monitoring"]}}`, "spec.networkPolicy.metrics.namespaces[0]"),
		Entry("an older archive without http", goodArchiver, "spec.retrieval.readThrough", `"appliance:17668"`, "readThrough must be the address of an archive"),
		Entry("an older archive with a password", goodArchiver, "spec.retrieval.readThrough", `"http://a:b@appliance/retrieval"`, "readThrough must be the address of an archive"),
		Entry("an older archive with a parameter", goodArchiver, "spec.retrieval.readThrough", `"http://appliance/retrieval?x=1"`, "readThrough must be the address of an archive"),
		Entry("an older archive with a wrong key", goodArchiver, "spec.retrieval.readThrough", `"json:http://archive/archive-access/api/1.0;key=a"`, "readThrough must be the address of an archive"),
		Entry("names of no older archive", goodArchiver, "spec.retrieval.readThroughNames", `1000`, "spec.retrieval.readThroughNames: Invalid value: readThroughNames is about the older archive: set readThrough, or remove readThroughNames"),
		Entry("a negative spool", goodArchiver, "spec.engines.spoolSize", `-1`, "spoolSize must be 0 or at least 64Mi"),
	)

	DescribeTable("rejects changes that would lose an archive", func(ctx SpecContext, manifest, path, value, message string) {
		good := object(namespace, manifest, "", "")
		Expect(k8s.Create(ctx, good)).To(Succeed())
		set(good, path, value)
		Expect(k8s.Update(ctx, good)).To(MatchError(ContainSubstring(message)))
	},
		Entry("shards", goodArchiver, "spec.shards", `65`, "shards cannot be changed"),
		Entry("kind of storage", goodArchiver, "spec.storage", `{"embedded": {}}`, "storage cannot be changed from cassandra to embedded or back: create another Archiver"),
		Entry("keyspace", goodArchiver, "spec.storage.cassandra.keyspace", `"other"`, "keyspace cannot be changed"),
		Entry("default keyspace", defaultKeyspace, "spec.storage.cassandra.keyspace", `"other"`, "keyspace cannot be changed"),
		Entry("default storage class", embeddedArchiver, "spec.storage.embedded.storageClassName", `"fast"`, "storageClassName cannot be changed"),
		Entry("size", embeddedArchiver, "spec.storage.embedded.size", `"1Ti"`, "size cannot be changed"),
	)

	It("fills in defaults", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, object(namespace, embeddedArchiver, "", ""))).To(Succeed())
		a := &v1alpha1.Archiver{}
		Expect(k8s.Get(ctx, key(namespace, "main"), a)).To(Succeed())
		Expect(a.Spec.Shards).To(BeEquivalentTo(64))
		Expect(a.Spec.Engines.Replicas).To(HaveValue(BeEquivalentTo(1)))
		Expect(a.Spec.Engines.SpoolSize.String()).To(Equal("2Gi"))
		Expect(a.Spec.Retrieval.Replicas).To(HaveValue(BeEquivalentTo(1)))
		Expect(a.Spec.Rebalance).To(Equal(v1alpha1.RebalanceAuto))
		Expect(a.Spec.Storage.Embedded.Size.String()).To(Equal("10Gi"))
		Expect(a.Spec.Storage.Embedded.DeletionPolicy).To(Equal(v1alpha1.RetainData))
	})

	// The API server limits the cost of CEL rules, and the cost grows with the object.
	// Client-side apply stores a copy of the object in an annotation of at most 256 KiB. etcd
	// accepts at most 1.5 MiB, and the managed fields repeat the name of every channel.
	DescribeTable("accepts the largest group that client-side apply can send", func(ctx SpecContext, channels int, settings string) {
		group, text := largestGroup(namespace, channels, settings)
		Expect(len(text)).To(BeNumerically("~", 256<<10, 8<<10))
		group.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": text[:min(len(text), 256<<10-100)]})
		Expect(k8s.Create(ctx, group)).To(Succeed())
		// An update evaluates the rules on both the old and the new object.
		set(group, "spec.paused", "true")
		Expect(k8s.Update(ctx, group)).To(Succeed())
	},
		Entry("with retention of each channel", 277, largestSampling+","+largestRetention),
		Entry("with fields and properties of each channel", 117, largestSampling+","+largestNames()),
	)

	It("accepts a group of 1,000 channels that each have their own sampling", func(ctx SpecContext) {
		group, text := largestGroup(namespace, 1000, largestSampling+`,"fields":["value"]`)
		GinkgoWriter.Printf("%d bytes\n", len(text))
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(group), client.FieldOwner("kubectl"))).To(Succeed())
	})
})

// object parses a manifest, sets one field, and returns the object.
func object(namespace, manifest, path, value string) *unstructured.Unstructured {
	GinkgoHelper()
	u := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(manifest), &u.Object)).To(Succeed())
	u.SetNamespace(namespace)
	if path != "" {
		set(u, path, value)
	}
	return u
}

// set sets a field to a value, given as JSON.
func set(u *unstructured.Unstructured, path, value string) {
	GinkgoHelper()
	parsed := &unstructured.Unstructured{}
	Expect(json.Unmarshal([]byte(`{"kind":"x","value":`+value+`}`), parsed)).To(Succeed())
	Expect(unstructured.SetNestedField(u.Object, parsed.Object["value"], strings.Split(path, ".")...)).To(Succeed())
}

// largestGroup returns a group whose channels each have their own settings, and the
// group's JSON. All names have the maximum length.
func largestGroup(namespace string, channels int, settings string) (*unstructured.Unstructured, string) {
	GinkgoHelper()
	var text strings.Builder
	text.WriteString(`{"apiVersion":"varve.dev/v1alpha1","kind":"ArchiveGroup","metadata":{"name":"large"},"spec":{"archiverRef":{"name":"main"},` +
		largestSampling + `,` + largestRetention + `,"shardBy":{"prefix":{"regex":"` + strings.Repeat("x", 256) + `"}},"channels":[`)
	for i := range channels {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"name":"SR:%04d:%s","provider":"PVA","redundancy":1,"paused":false,%s}`, i, strings.Repeat("N", 248), settings)
	}
	text.WriteString(`]}}`)
	return object(namespace, text.String(), "", ""), text.String()
}

// These are the longest forms of all settings. They use mode Monitor, which has more
// settings than mode Scan.
const (
	largestSampling = `"sampling":{"mode":"Monitor","events":["Log","Value","Alarm"],"deadband":{"absolute":1.2345678901234567e-7,"relative":0.12345678901234567},` +
		`"maxRate":123456.78901234567,"clock":"Source","clockLimit":{"ahead":"86400s","behind":"604800s","onExceeded":"Restamp"}}`
	largestRetention = `"properties":["EGU","PREC","HIHI","HIGH","LOW","LOLO","HOPR","LOPR"],` +
		`"retention":{"raw":"70000d","rollups":[{"every":"1s","keep":"70001d"},{"every":"10s","keep":"70002d"},{"every":"60s","keep":"70003d"},` +
		`{"every":"600s","keep":"70004d"},{"every":"3600s","keep":"70005d"},{"every":"21600s","keep":"70006d"},{"every":"86400s","keep":"70007d"},{"every":"604800s"}]}`
)

// largestNames returns the maximum number of fields and properties, with names of the
// maximum length.
func largestNames() string {
	var fields, properties []string
	for i := range 16 {
		fields = append(fields, fmt.Sprintf(`"f%02d.%s"`, i, strings.Repeat("x", 60)))
		properties = append(properties, fmt.Sprintf(`"P%02d%s"`, i, strings.Repeat("X", 29)))
	}
	return `"fields":[` + strings.Join(fields, ",") + `],"properties":[` + strings.Join(properties, ",") + `]`
}
