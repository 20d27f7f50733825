package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// EnginesSpec describes the engine pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.resources) || (has(self.resources.requests) && 'cpu' in self.resources.requests) || (has(self.resources.limits) && 'cpu' in self.resources.limits)",fieldPath=".resources",message="autoscaling requires resources.requests.cpu: its target is a percentage of the request"
type EnginesSpec struct {
	// replicas is the number of engines. With autoscaling, leave it out: the autoscaler sets it,
	// as kubectl scale does. 0 stops all engines and also pauses autoscaling.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling lets a HorizontalPodAutoscaler set replicas by the CPU usage of the engines.
	// The operator creates the autoscaler. Default: no autoscaling.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	PodSpec `json:",inline"`

	// hostNetwork runs engines in the network of their nodes. Use it for IOCs that are found by
	// broadcast or that pods cannot reach. The namespace must allow it: label it
	// pod-security.kubernetes.io/enforce=privileged.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`

	// spoolSize is the disk space of its node that an engine can use for samples while Cassandra
	// is unreachable and the engine's memory is full. 0 disables the spool. Spooled samples
	// survive a restart of the container, but not the deletion of the pod.
	// +optional
	// +kubebuilder:default="2Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) == 0 || quantity(string(self)).compareTo(quantity('64Mi')) >= 0",message="spoolSize must be 0 or at least 64Mi"
	SpoolSize *resource.Quantity `json:"spoolSize,omitempty"`

	// terminationGracePeriodSeconds is how long an engine may take to end. An engine ends as soon as other
	// engines have taken over its shards and its samples are stored, usually within seconds. It needs longer
	// while Cassandra, the API server or the operator is away: samples are lost if it must end before they are
	// back. Note the limits of what drains your nodes: cluster-autoscaler waits 10 minutes unless configured.
	// +optional
	// +kubebuilder:default=900
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// AutoscalingSpec limits the HorizontalPodAutoscaler of the engines. Autoscaling requires
// metrics-server or another source of metrics.k8s.io.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",fieldPath=".minReplicas",message="minReplicas must be at most maxReplicas"
type AutoscalingSpec struct {
	// minReplicas is the smallest number of engines.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinReplicas int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the largest number of engines.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// targetCPUUtilizationPercentage is the average CPU usage that the autoscaler aims for, in
	// percent of the CPU that engines request.
	// +optional
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TargetCPUUtilizationPercentage int32 `json:"targetCPUUtilizationPercentage,omitempty"`
}
