package render

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// user is the user and group of all processes. The image defines it too.
const user = 65532

// podTemplate contains the differences between the pods of the components.
type podTemplate struct {
	component string
	settings  *v1alpha1.PodSpec
	container *core.ContainerApplyConfiguration
	volumes   []volume
	// annotations are the operator's own. They replace the user's.
	annotations map[string]string
}

// template returns a pod template with the user's settings. It meets the restricted pod security
// standard.
func (in Input) template(p podTemplate) *core.PodTemplateSpecApplyConfiguration {
	a := in.Archiver
	p.container.
		WithName(p.component).
		WithImage(in.image()).
		WithSecurityContext(core.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(core.Capabilities().WithDrop("ALL"))).
		// The last log line of a process explains why it failed.
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError)
	if a.Spec.ImagePullPolicy != "" {
		p.container.WithImagePullPolicy(a.Spec.ImagePullPolicy)
	}
	spec := core.PodSpec().
		WithSecurityContext(core.PodSecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(user).WithRunAsGroup(user).WithFSGroup(user).
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(core.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		// Environment variables of Services would depend on other objects in the namespace.
		WithEnableServiceLinks(false)
	for _, v := range p.volumes {
		spec.WithVolumes(v.VolumeApplyConfiguration)
		p.container.WithVolumeMounts(v.mount())
	}
	spec.WithContainers(p.container)
	for _, s := range a.Spec.ImagePullSecrets {
		spec.WithImagePullSecrets(core.LocalObjectReference().WithName(s.Name))
	}
	schedule(spec, p.settings)
	t := core.PodTemplateSpec().
		WithLabels(podLabels(a.Name, p.component, p.settings.PodLabels)).
		WithSpec(spec)
	if len(p.settings.PodAnnotations) > 0 {
		t.WithAnnotations(p.settings.PodAnnotations)
	}
	if len(p.annotations) > 0 {
		t.WithAnnotations(p.annotations)
	}
	return t
}

// merged returns the entries of two maps, or nil if there are none.
func merged(a, b map[string]string) map[string]string {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// schedule applies the user's scheduling settings.
func schedule(spec *core.PodSpecApplyConfiguration, user *v1alpha1.PodSpec) {
	if len(user.NodeSelector) > 0 {
		spec.WithNodeSelector(user.NodeSelector)
	}
	for i := range user.Tolerations {
		spec.WithTolerations(toleration(&user.Tolerations[i]))
	}
	if user.PriorityClassName != "" {
		spec.WithPriorityClassName(user.PriorityClassName)
	}
}

func toleration(t *corev1.Toleration) *core.TolerationApplyConfiguration {
	out := core.Toleration()
	if t.Key != "" {
		out.WithKey(t.Key)
	}
	if t.Operator != "" {
		out.WithOperator(t.Operator)
	}
	if t.Value != "" {
		out.WithValue(t.Value)
	}
	if t.Effect != "" {
		out.WithEffect(t.Effect)
	}
	if t.TolerationSeconds != nil {
		out.WithTolerationSeconds(*t.TolerationSeconds)
	}
	return out
}

// lostNodeSeconds is how long a node can be unreachable before its pods are replaced. Kubernetes'
// default is 5 minutes.
const lostNodeSeconds = 60

// replaceSoon makes Kubernetes replace a pod soon after its node is lost, unless the user sets
// such tolerations. The replacement needs no data from the lost node.
func replaceSoon(spec *core.PodSpecApplyConfiguration, user *v1alpha1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if slices.ContainsFunc(user.Tolerations, func(t corev1.Toleration) bool { return t.Key == key || t.Key == "" }) {
			continue
		}
		spec.WithTolerations(core.Toleration().WithKey(key).WithOperator(corev1.TolerationOpExists).
			WithEffect(corev1.TaintEffectNoExecute).WithTolerationSeconds(lostNodeSeconds))
	}
}

// spread distributes the pods of a component over nodes and zones, if possible. It counts each
// version of the pods separately, so that they are also evenly distributed after an update.
func spread(spec *core.PodSpecApplyConfiguration, archiver, component string) {
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		spec.WithTopologySpreadConstraints(core.TopologySpreadConstraint().
			WithTopologyKey(key).
			WithMaxSkew(1).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(matching(archiver, component)).
			WithMatchLabelKeys("pod-template-hash"))
	}
}

// probed adds the ports, and probes of the port for metrics. A pod can take minutes to start, for example while an
// embedded store recovers. It gets requests as soon as it is ready. Kubernetes restarts it only
// after it has been stuck for a minute.
func probed(c *core.ContainerApplyConfiguration, ports ...*core.ContainerPortApplyConfiguration) {
	probe := func(path string, every, failures int32) *core.ProbeApplyConfiguration {
		return core.Probe().
			WithHTTPGet(core.HTTPGetAction().WithPath(path).WithPort(metricsPortName)).
			WithPeriodSeconds(every).WithTimeoutSeconds(5).WithFailureThreshold(failures)
	}
	c.WithPorts(ports...).WithPorts(containerPort(MetricsPortName, MetricsPort)).
		WithStartupProbe(probe("/healthz", 1, 600)).
		WithLivenessProbe(probe("/healthz", 10, 6)).
		WithReadinessProbe(probe("/readyz", 2, 3))
}

func containerPort(name string, port int32) *core.ContainerPortApplyConfiguration {
	return core.ContainerPort().WithName(name).WithContainerPort(port).WithProtocol(corev1.ProtocolTCP)
}
