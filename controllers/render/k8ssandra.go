package render

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"
)

// clusterSpec is the spec of k8ssandra-operator's K8ssandraCluster.
type clusterSpec struct {
	Auth      bool                  `json:"auth"`
	Cassandra clusterTemplate       `json:"cassandra"`
	Medusa    *apiextensionsv1.JSON `json:"medusa,omitempty"`
	Reaper    *apiextensionsv1.JSON `json:"reaper,omitempty"`
}

type clusterTemplate struct {
	ClusterName        string                                       `json:"clusterName"`
	ServerType         string                                       `json:"serverType"`
	ServerVersion      string                                       `json:"serverVersion"`
	ServerImage        string                                       `json:"serverImage,omitempty"`
	SuperuserSecretRef *core.LocalObjectReferenceApplyConfiguration `json:"superuserSecretRef"`
	StorageConfig      storageConfig                                `json:"storageConfig"`
	Resources          requirementsOf                               `json:"resources"`
	Config             clusterConfig                                `json:"config"`
	Racks              []rack                                       `json:"racks"`
	ShareWorkers       bool                                         `json:"softPodAntiAffinity,omitempty"`
	Tolerations        []corev1.Toleration                          `json:"tolerations,omitempty"`
	PodSecurityContext *core.PodSecurityContextApplyConfiguration   `json:"podSecurityContext"`
	InitContainers     []*core.ContainerApplyConfiguration          `json:"initContainers"`
	Containers         []*core.ContainerApplyConfiguration          `json:"containers"`
	ExtraVolumes       *clusterVolumes                              `json:"extraVolumes,omitempty"`
	ManagementAPIAuth  map[string]struct{}                          `json:"managementApiAuth"`
	Datacenters        []clusterDatacenter                          `json:"datacenters"`
}

type clusterConfig struct {
	CassandraYAML map[string]any `json:"cassandraYaml"`
	JVM           clusterJVM     `json:"jvmOptions"`
}

type clusterJVM struct {
	Initial resource.Quantity `json:"heap_initial_size"`
	Max     resource.Quantity `json:"heap_max_size"`
}

type clusterVolumes struct {
	Volumes []*core.VolumeApplyConfiguration `json:"volumes"`
}

type clusterDatacenter struct {
	Metadata clusterDatacenterMeta `json:"metadata"`
	Size     int32                 `json:"size"`
}

type clusterDatacenterMeta struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
}

// k8ssandraCluster returns the K8ssandraCluster, with backups and repairs. It has no node
// selector, so the labels of the racks select the nodes.
func k8ssandraCluster(in Input) Object {
	a := in.Archiver
	m := Managed(a)
	superuser, _ := SuperuserSecret(a)
	heap := heapSize(m)
	template := clusterTemplate{
		ClusterName: ClusterName(a.Name), ServerType: "cassandra", ServerVersion: m.Version, ServerImage: m.Image,
		SuperuserSecretRef: core.LocalObjectReference().WithName(superuser),
		StorageConfig:      dataVolume(m), Resources: nodeResources(m),
		Config:       clusterConfig{CassandraYAML: cassandraYAML(m), JVM: clusterJVM{Initial: heap, Max: heap}},
		Racks:        selected(racks(m), m.NodeSelector),
		ShareWorkers: m.ShareWorkers, Tolerations: m.Tolerations,
		ManagementAPIAuth: map[string]struct{}{"insecure": {}},
		Datacenters: []clusterDatacenter{{
			Metadata: clusterDatacenterMeta{Name: DatacenterName(a.Name), Annotations: datacenterAnnotations(m)},
			Size:     in.sizeNow(),
		}},
	}
	pod := nodePod(m)
	template.PodSecurityContext, template.InitContainers, template.Containers = pod.SecurityContext, pod.InitContainers, pod.Containers
	if len(pod.Volumes) > 0 {
		template.ExtraVolumes = &clusterVolumes{Volumes: pod.Volumes}
	}
	return newForeign("k8ssandra.io/v1alpha1", KindK8ssandraCluster, ClusterName(a.Name), a, "",
		clusterSpec{Auth: true, Cassandra: template, Medusa: m.Medusa, Reaper: m.Reaper})
}

// selected adds labels to the node labels of all racks.
func selected(racks []rack, labels map[string]string) []rack {
	for i := range racks {
		for key, value := range labels {
			if racks[i].NodeAffinityLabels == nil {
				racks[i].NodeAffinityLabels = map[string]string{}
			}
			racks[i].NodeAffinityLabels[key] = value
		}
	}
	return racks
}
