package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// user is the user and group of all processes; the image has it too.
const user = 65532

// podTemplate is what differs between the pods of the components.
type podTemplate struct {
	component string
	settings  *v1alpha1.PodSpec
	container *core.ContainerApplyConfiguration
	volumes   []volume
}

// template returns a pod template that meets the restricted pod security
// standard, with the user's settings.
func (in Input) template(p podTemplate) *core.PodTemplateSpecApplyConfiguration {
	a := in.Archiver
	p.container.
		WithName(p.component).
		WithImage(in.image()).
		WithSecurityContext(core.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(core.Capabilities().WithDrop("ALL"))).
		// What a process said last explains why it ended.
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError)
	if a.Spec.ImagePullPolicy != "" {
		p.container.WithImagePullPolicy(a.Spec.ImagePullPolicy)
	}
	spec := core.PodSpec().
		WithSecurityContext(core.PodSecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(user).WithRunAsGroup(user).WithFSGroup(user).
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(core.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		// Variables of Services would depend on what else is in the namespace.
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
	return t
}

// schedule hands on what the user says about nodes.
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

// lostNodeSeconds is how long a node may not answer until its pods are replaced; 5 minutes
// is what Kubernetes grants others.
const lostNodeSeconds = 60

// replaceSoon has pods replaced soon after their node is lost, unless the user says
// otherwise. They have nothing on it that others wait for.
func replaceSoon(spec *core.PodSpecApplyConfiguration, user *v1alpha1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if slices.ContainsFunc(user.Tolerations, func(t corev1.Toleration) bool { return t.Key == key || t.Key == "" }) {
			continue
		}
		spec.WithTolerations(core.Toleration().WithKey(key).WithOperator(corev1.TolerationOpExists).
			WithEffect(corev1.TaintEffectNoExecute).WithTolerationSeconds(lostNodeSeconds))
	}
}

// spread puts the pods of a component on many nodes and zones, as far as there
// are any. Pods of different versions are counted apart, so that an update ends
// as evenly spread as it began.
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

// probed adds the HTTP port and its probes. A pod may take minutes to start, as
// where an embedded store is recovered. It gets requests as soon as it is ready,
// and is killed only if it has been stuck for a minute.
func probed(c *core.ContainerApplyConfiguration) {
	probe := func(path string, every, failures int32) *core.ProbeApplyConfiguration {
		return core.Probe().
			WithHTTPGet(core.HTTPGetAction().WithPath(path).WithPort(portName)).
			WithPeriodSeconds(every).WithTimeoutSeconds(5).WithFailureThreshold(failures)
	}
	c.WithPorts(core.ContainerPort().WithName(PortName).WithContainerPort(Port).WithProtocol(corev1.ProtocolTCP)).
		WithStartupProbe(probe("/healthz", 1, 600)).
		WithLivenessProbe(probe("/healthz", 10, 6)).
		WithReadinessProbe(probe("/readyz", 2, 3))
}
