package render

import (
	"fmt"

	apps "k8s.io/client-go/applyconfigurations/apps/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// retrievalGraceSeconds gives running downloads the time to finish.
const retrievalGraceSeconds = 60

// retrievalDeployment returns the Deployment of the pods that serve an archive in Cassandra.
func retrievalDeployment(in Input) *apps.DeploymentApplyConfiguration {
	a := in.Archiver
	settings := &a.Spec.Retrieval
	res := resources(&settings.PodSpec, retrievalResources)
	flags, volumes := storage(a)
	accessFlags, annotations, accessVolumes := accessFlags(a)
	flags, volumes = append(flags, accessFlags...), append(volumes, accessVolumes...)
	throughFlags, throughVolumes := through(a)
	tlsFlags, tlsVolumes, tlsAnnotations := in.internalTLS(v1alpha1.ComponentRetrieval)
	flags, volumes, annotations = append(flags, tlsFlags...), append(volumes, tlsVolumes...), merged(annotations, tlsAnnotations)
	volumes = append(volumes, throughVolumes...)
	container := core.Container().
		WithArgs(
			"retrieval",
			"--namespace=$(POD_NAMESPACE)",
			"--archiver="+a.Name,
			fmt.Sprintf("--shards=%d", a.Spec.Shards),
			fmt.Sprintf("--listen=:%d", Port),
			fmt.Sprintf("--metrics-listen=:%d", MetricsPort)).
		WithArgs(logArgs(a)...).
		WithArgs(throughFlags...).
		WithArgs(flags...).
		WithEnv(podEnv()...).
		WithResources(requirements(res))
	if limit := goMemory(res); limit != "" {
		container.WithEnv(env("GOMEMLIMIT", limit))
	}
	probed(container, containerPort(PortName, Port))

	template := in.template(podTemplate{
		component: v1alpha1.ComponentRetrieval, settings: &settings.PodSpec, container: container, volumes: volumes, annotations: annotations,
	})
	template.Spec.
		WithServiceAccountName(RetrievalName(a.Name)).
		WithAutomountServiceAccountToken(true).
		WithTerminationGracePeriodSeconds(retrievalGraceSeconds)
	spread(template.Spec, a.Name, v1alpha1.ComponentRetrieval)
	replaceSoon(template.Spec, &settings.PodSpec)
	replicas := int32(1)
	if settings.Replicas != nil {
		replicas = *settings.Replicas
	}
	return deployment(a, v1alpha1.ComponentRetrieval, replicas, rolling(0), template)
}

// olderDir is the folder with the credentials for the older archive.
const olderDir = "/etc/varve/older"

// through returns the flags about the older archive, and the volume with the credentials for it.
func through(a *v1alpha1.Archiver) (flags []string, volumes []volume) {
	r := &a.Spec.Retrieval
	if r.ReadThrough == "" {
		return nil, nil
	}
	flags = []string{"--read-through=" + r.ReadThrough}
	if r.ReadThroughNames > 0 {
		flags = append(flags, fmt.Sprintf("--read-through-names=%d", r.ReadThroughNames))
	}
	if ref := r.ReadThroughSecretRef; ref != nil {
		flags = append(flags, "--read-through-credentials="+olderDir)
		older := secretVolume("older", ref.Name, olderDir)
		// An embedded engine must capture also without the Secret. Kubernetes mounts it as soon as it exists.
		older.Secret.WithOptional(Embedded(a))
		volumes = []volume{older}
	}
	return flags, volumes
}
