package render

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	apps "k8s.io/client-go/applyconfigurations/apps/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

const (
	// engineGraceSeconds repeats the default of the API.
	engineGraceSeconds = 900
	// engineStopSeconds is the part of the grace period for what follows the hand-over of the shards.
	engineStopSeconds = 30
)

// engineGrace returns the grace period of engines in seconds.
func engineGrace(a *v1alpha1.Archiver) int64 {
	if s := a.Spec.Engines.TerminationGracePeriodSeconds; s != nil {
		return *s
	}
	return engineGraceSeconds
}

// engineDeployment returns the Deployment of the engines.
func engineDeployment(in Input) *apps.DeploymentApplyConfiguration {
	a := in.Archiver
	settings := &a.Spec.Engines
	res := resources(&settings.PodSpec, engineResources)
	flags, volumes := storage(a)
	volumes = append(volumes, volume{
		// The volume state holds the engine's last assignment. It survives a restart of the
		// container but not the deletion of the pod.
		VolumeApplyConfiguration: core.Volume().WithName("state").WithEmptyDir(core.EmptyDirVolumeSource()),
		path:                     stateDir,
	})
	spoolFlags, spoolVolumes := spool(a)
	flags, volumes = append(flags, spoolFlags...), append(volumes, spoolVolumes...)
	var annotations map[string]string
	if Embedded(a) {
		accessFlags, accessAnnotations, accessVolumes := accessFlags(a)
		flags, volumes, annotations = append(flags, accessFlags...), append(volumes, accessVolumes...), accessAnnotations
		throughFlags, throughVolumes := through(a)
		flags, volumes = append(flags, throughFlags...), append(volumes, throughVolumes...)
	}
	tlsFlags, tlsVolumes, tlsAnnotations := in.internalTLS(v1alpha1.ComponentEngine)
	flags, volumes, annotations = append(flags, tlsFlags...), append(volumes, tlsVolumes...), merged(annotations, tlsAnnotations)
	flags = append(flags, fmt.Sprintf("--drain-timeout=%ds", engineGrace(a)-engineStopSeconds))
	if limit := a.Spec.Storage.DiskLimit; limit != nil {
		flags = append(flags, fmt.Sprintf("--disk-limit=%d", limit.Value()))
	}
	if g := a.Spec.Storage.DiskGuard; g != nil {
		flags = append(flags, fmt.Sprintf("--disk-keep=%s", cmp.Or(g.KeepAtLeast, "1d")), fmt.Sprintf("--disk-warn-only=%t", g.Action == v1alpha1.DiskGuardWarn))
	}
	container := core.Container().
		WithArgs(engineArgs(a, res)...).
		WithArgs(flags...).
		WithEnv(podEnv()...).
		WithEnv(epics(a)...).
		WithResources(requirements(res))
	if limit := goMemory(res); limit != "" {
		container.WithEnv(env("GOMEMLIMIT", limit))
	}
	probed(container, enginePorts(a)...)

	template := in.template(podTemplate{
		component: v1alpha1.ComponentEngine, settings: &settings.PodSpec, container: container, volumes: volumes, annotations: annotations,
	})
	template.Spec.
		WithServiceAccountName(EngineName(a.Name)).
		WithAutomountServiceAccountToken(true).
		WithTerminationGracePeriodSeconds(engineGrace(a))
	spread(template.Spec, a.Name, v1alpha1.ComponentEngine)
	if !Embedded(a) { // the volume of an embedded archive can be bound to its node
		replaceSoon(template.Spec, &settings.PodSpec)
	}
	if settings.HostNetwork {
		template.Spec.WithHostNetwork(true).WithDNSPolicy(corev1.DNSClusterFirstWithHostNet)
	}
	replicas := EngineReplicas(a)
	if in.Restore != "" {
		replicas = 0
	}
	return deployment(a, v1alpha1.ComponentEngine, replicas, engineStrategy(a), template)
}

func engineArgs(a *v1alpha1.Archiver, res corev1.ResourceRequirements) []string {
	args := []string{
		"engine",
		"--name=$(POD_NAME)",
		"--namespace=$(POD_NAMESPACE)",
		"--archiver=" + a.Name,
		fmt.Sprintf("--shards=%d", a.Spec.Shards),
		fmt.Sprintf("--listen=:%d", Port),
		fmt.Sprintf("--metrics-listen=:%d", MetricsPort),
		"--state=" + stateDir,
		"--memory=" + sampleMemory(res),
	}
	args = append(args, logArgs(a)...)
	if Embedded(a) {
		args = append(args, "--retrieval", fmt.Sprintf("--internal-listen=:%d", InternalPort(a)))
	}
	return args
}

// enginePorts returns the ports besides that for metrics.
func enginePorts(a *v1alpha1.Archiver) (ports []*core.ContainerPortApplyConfiguration) {
	if Embedded(a) {
		ports = append(ports, containerPort(PortName, Port))
	}
	return append(ports, containerPort(report.PortName, InternalPort(a)))
}

func logArgs(a *v1alpha1.Archiver) []string {
	level := a.Spec.LogLevel
	if level == "" {
		level = "info"
	}
	return []string{"--log-level=" + level, "--log-format=json"}
}

// engineStrategy starts a new engine before it stops an old one.
//
// Two engines with hostNetwork cannot run on one node, because they use the same port. So an
// old engine can stop first. It keeps its shards until another engine captures them, or until
// its grace period ends.
func engineStrategy(a *v1alpha1.Archiver) *apps.DeploymentStrategyApplyConfiguration {
	switch {
	case Embedded(a):
		// Only one process at a time can use the volume.
		return apps.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)
	case a.Spec.Engines.HostNetwork:
		return rolling(1)
	}
	return rolling(0)
}

func rolling(maxUnavailable int) *apps.DeploymentStrategyApplyConfiguration {
	return apps.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(apps.RollingUpdateDeployment().
			WithMaxSurge(intstr.FromInt32(1)).
			WithMaxUnavailable(intstr.FromInt(maxUnavailable)))
}

func deployment(
	a *v1alpha1.Archiver, component string, replicas int32,
	strategy *apps.DeploymentStrategyApplyConfiguration, template *core.PodTemplateSpecApplyConfiguration,
) *apps.DeploymentApplyConfiguration {
	return apps.Deployment(componentName(a.Name, component), a.Namespace).
		WithLabels(Labels(a.Name, component)).
		WithOwnerReferences(owner(a)).
		WithSpec(apps.DeploymentSpec().
			WithReplicas(replicas).
			WithRevisionHistoryLimit(3).
			WithSelector(matching(a.Name, component)).
			WithStrategy(strategy).
			WithTemplate(template))
}
