package render

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// datacenterSpec is the spec of cass-operator's CassandraDatacenter.
type datacenterSpec struct {
	ClusterName         string              `json:"clusterName"`
	ServerType          string              `json:"serverType"`
	ServerVersion       string              `json:"serverVersion"`
	ServerImage         string              `json:"serverImage,omitempty"`
	Size                int32               `json:"size"`
	Racks               []rack              `json:"racks"`
	StorageConfig       storageConfig       `json:"storageConfig"`
	Resources           requirementsOf      `json:"resources"`
	Config              config              `json:"config"`
	SuperuserSecretName string              `json:"superuserSecretName"`
	ManagementAPIAuth   map[string]struct{} `json:"managementApiAuth"`
	ShareWorkers        bool                `json:"allowMultipleNodesPerWorker,omitempty"`
	NodeSelector        map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations         []corev1.Toleration `json:"tolerations,omitempty"`
	PodTemplate         datacenterPodChange `json:"podTemplateSpec"`
}

type rack struct {
	Name               string            `json:"name"`
	NodeAffinityLabels map[string]string `json:"nodeAffinityLabels,omitempty"`
}

type storageConfig struct {
	Claim claimSpec `json:"cassandraDataVolumeClaimSpec"`
}

type claimSpec struct {
	StorageClassName *string        `json:"storageClassName,omitempty"`
	AccessModes      []string       `json:"accessModes"`
	Resources        requirementsOf `json:"resources"`
}

type requirementsOf struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
}

// config is the configuration of a node, by file.
type config struct {
	CassandraYAML map[string]any    `json:"cassandra-yaml"`
	JVM           map[string]string `json:"jvm-server-options"`
}

type datacenterPodChange struct {
	Spec datacenterPodSpec `json:"spec"`
}

// datacenterPodSpec contains the differences from the default pods of cass-operator.
type datacenterPodSpec struct {
	SecurityContext *core.PodSecurityContextApplyConfiguration `json:"securityContext"`
	InitContainers  []*core.ContainerApplyConfiguration        `json:"initContainers"`
	Containers      []*core.ContainerApplyConfiguration        `json:"containers"`
	Volumes         []*core.VolumeApplyConfiguration           `json:"volumes,omitempty"`
}

// Annotations of cass-operator.
const (
	deletePVC           = "cassandra.datastax.com/delete-pvc"
	allowStorageChanges = "cassandra.datastax.com/allow-storage-changes"
)

// datacenterAnnotations returns the annotations that let volumes grow and, unless deletionPolicy
// is Delete, keep them when the datacenter is deleted.
func datacenterAnnotations(m *v1alpha1.ManagedCassandra) map[string]string {
	annotations := map[string]string{allowStorageChanges: "true"}
	if m.DeletionPolicy != v1alpha1.DeleteData {
		annotations[deletePVC] = "false"
	}
	return annotations
}

// datacenter returns the CassandraDatacenter for cass-operator.
func datacenter(in Input) Object {
	a := in.Archiver
	m := Managed(a)
	superuser, _ := SuperuserSecret(a)
	size := heapSize(m)
	heap := fmt.Sprintf("%dM", size.Value()>>20)
	spec := datacenterSpec{
		ClusterName: ClusterName(a.Name), ServerType: "cassandra", ServerVersion: m.Version, ServerImage: m.Image,
		Size: in.sizeNow(), Racks: racks(m), StorageConfig: dataVolume(m), Resources: nodeResources(m),
		Config: config{
			CassandraYAML: cassandraYAML(m),
			JVM:           map[string]string{"initial_heap_size": heap, "max_heap_size": heap},
		},
		SuperuserSecretName: superuser, ManagementAPIAuth: map[string]struct{}{"insecure": {}},
		ShareWorkers: m.ShareWorkers, NodeSelector: m.NodeSelector, Tolerations: m.Tolerations,
		PodTemplate: datacenterPodChange{Spec: nodePod(m)},
	}
	o := newForeign("cassandra.datastax.com/v1beta1", KindCassandraDatacenter, DatacenterName(a.Name), a, "", spec)
	o.WithAnnotations(datacenterAnnotations(m))
	return o
}

// racks returns the racks of the spec, or one rack r1.
func racks(m *v1alpha1.ManagedCassandra) []rack {
	if len(m.Racks) == 0 {
		return []rack{{Name: "r1"}}
	}
	var out []rack
	for _, r := range m.Racks {
		labels := maps.Clone(r.NodeLabels)
		if r.Zone != "" {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[corev1.LabelTopologyZone] = r.Zone
		}
		out = append(out, rack{Name: r.Name, NodeAffinityLabels: labels})
	}
	return out
}

// These are the defaults of nodes. They repeat the defaults of the API for objects that did
// not pass through the API server.
var (
	defaultNodeStorage = resource.MustParse("100Gi")
	defaultNodeMemory  = resource.MustParse("4Gi")
	defaultNodeCPU     = resource.MustParse("1")
	mostHeap           = resource.MustParse("16Gi")
)

func dataVolume(m *v1alpha1.ManagedCassandra) storageConfig {
	size := defaultNodeStorage
	if m.Storage != nil {
		size = *m.Storage
	}
	return storageConfig{Claim: claimSpec{
		StorageClassName: m.StorageClassName, AccessModes: []string{string(corev1.ReadWriteOnce)},
		Resources: requirementsOf{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
	}}
}

func nodeResources(m *v1alpha1.ManagedCassandra) requirementsOf {
	if r := m.Resources; r != nil {
		return requirementsOf{Requests: r.Requests, Limits: r.Limits}
	}
	return requirementsOf{
		Requests: corev1.ResourceList{corev1.ResourceCPU: defaultNodeCPU, corev1.ResourceMemory: defaultNodeMemory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: defaultNodeMemory},
	}
}

// heapSize returns the heap size of a node. The default leaves half of the memory for Cassandra's
// off-heap memory and the page cache.
func heapSize(m *v1alpha1.ManagedCassandra) resource.Quantity {
	if m.HeapSize != nil {
		return *m.HeapSize
	}
	r := nodeResources(m)
	memory := defaultNodeMemory
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		if q, has := list[corev1.ResourceMemory]; has {
			memory = q
		}
	}
	return *resource.NewQuantity(min(memory.Value()/2, mostHeap.Value()), resource.BinarySI)
}

// nodeTLSDir is the folder of a node's certificates.
const nodeTLSDir = "/etc/cassandra-tls"

// nodeUser is the user of Cassandra in its images.
const nodeUser = 999

// nodePod returns the changes with which a node's pod meets the restricted pod security standard
// and mounts its certificates. cass-operator merges containers by name.
func nodePod(m *v1alpha1.ManagedCassandra) datacenterPodSpec {
	container := func(name string) *core.ContainerApplyConfiguration {
		return core.Container().WithName(name).WithSecurityContext(core.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(core.Capabilities().WithDrop("ALL")))
	}
	node := container("cassandra")
	spec := datacenterPodSpec{
		SecurityContext: core.PodSecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(nodeUser).WithRunAsGroup(nodeUser).WithFSGroup(nodeUser).
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(core.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)),
		// The init containers run in this order.
		InitContainers: []*core.ContainerApplyConfiguration{container("server-config-init-base"), container("server-config-init")},
		Containers:     []*core.ContainerApplyConfiguration{node, container("server-system-logger")},
	}
	if m.TLS != nil {
		node.WithVolumeMounts(core.VolumeMount().WithName("tls").WithMountPath(nodeTLSDir).WithReadOnly(true))
		spec.Volumes = append(spec.Volumes, core.Volume().WithName("tls").
			WithSecret(core.SecretVolumeSource().WithSecretName(m.TLS.SecretRef.Name)))
	}
	return spec
}

// cassandraYAML returns the settings that an archive needs, overridden by the user's settings.
func cassandraYAML(m *v1alpha1.ManagedCassandra) map[string]any {
	y := map[string]any{
		"num_tokens": 16,
		// Without this setting, Cassandra rejects rows that expire after 2038.
		"storage_compatibility_mode": "NONE",
		"authenticator":              "PasswordAuthenticator",
		"authorizer":                 "CassandraAuthorizer",
		"role_manager":               "CassandraRoleManager",
		// With a short validity, new permissions become effective soon.
		"permissions_validity": "10s",
	}
	maps.Copy(y, commitLog(m.CommitLog))
	if m.TLS != nil {
		maps.Copy(y, encryption())
	}
	if m.CassandraYAML != nil {
		var user map[string]any
		if err := json.Unmarshal(m.CassandraYAML.Raw, &user); err != nil {
			panic("BUG: cassandraYAML is not an object: " + err.Error())
		}
		maps.Copy(y, user)
	}
	return y
}

// commitLog returns the settings of the commit log. With Group, Cassandra syncs before it
// acknowledges writes, every 10 ms for all waiting writes; with Periodic, every 10 s. It does not
// start with both a period and a group window, so 0 disables the period.
func commitLog(policy v1alpha1.CommitLogPolicy) map[string]any {
	if policy == v1alpha1.CommitLogPeriodic {
		return map[string]any{"commitlog_sync": "periodic", "commitlog_sync_period": "10s"}
	}
	return map[string]any{"commitlog_sync": "group", "commitlog_sync_group_window": "10ms", "commitlog_sync_period": "0ms"}
}

// encryption returns the TLS settings. PEM files need no password.
func encryption() map[string]any {
	side := func(more map[string]any) map[string]any {
		maps.Copy(more, map[string]any{
			"ssl_context_factory": map[string]any{"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
			"keystore":            nodeTLSDir + "/tls-combined.pem",
			"truststore":          nodeTLSDir + "/ca.crt",
		})
		return more
	}
	return map[string]any{
		"client_encryption_options": side(map[string]any{"enabled": true, "optional": false, "require_client_auth": false}),
		"server_encryption_options": side(map[string]any{"internode_encryption": "all", "require_client_auth": true}),
	}
}
