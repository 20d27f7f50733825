package archiverstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// notCreated returns the reasons why Kubernetes does not create pods.
func notCreated(in *Input) []problem {
	var all []problem
	for _, d := range []*appsv1.Deployment{in.Engines, in.Retrieval} {
		if d == nil {
			continue
		}
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				all = append(all, replicaFailure(d, c.Message))
			}
		}
	}
	return all
}

// replicaFailure explains a message such as `pods "main-engine-5d-x" is forbidden:
// violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`.
func replicaFailure(d *appsv1.Deployment, message string) problem {
	component := d.Labels[v1alpha1.LabelComponent]
	if i := strings.Index(message, "violates PodSecurity"); i >= 0 {
		return problem{v1alpha1.ReasonPodSecurity, fmt.Sprintf(
			"this namespace does not allow %s pods: label it pod-security.kubernetes.io/enforce=privileged (%s)",
			component, message[i:])}
	}
	// The name of a pod that was not created is meaningless, and changes.
	if strings.HasPrefix(message, `pods "`) {
		if _, rest, ok := strings.Cut(message, `" `); ok {
			message = rest
		}
	}
	return problem{v1alpha1.ReasonFailedCreate, fmt.Sprintf("%s pods cannot be created: %s", component, message)}
}

// podProblems returns the reasons why pods do not run. Each problem appears once, without the
// name of a pod.
func podProblems(in *Input) []problem {
	var all []problem
	for i := range in.Pods {
		p := &in.Pods[i]
		switch component := p.Labels[v1alpha1.LabelComponent]; {
		case p.DeletionTimestamp != nil, component == "":
			continue
		case component == v1alpha1.ComponentBackup, component == v1alpha1.ComponentRestore:
			continue // ArchiveBackups and ArchiveRestores report them
		}
		if found := podProblem(p, in.Mounts[p.Name]); found.reason != "" {
			found.message = p.Labels[v1alpha1.LabelComponent] + " pod: " + found.message
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.message, b.message))
	})
	return slices.Compact(all)
}

// podProblem returns the reason why one pod does not run.
func podProblem(p *corev1.Pod, mount string) problem {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return problem{v1alpha1.ReasonUnschedulable, c.Message}
		}
	}
	if mount != "" {
		return problem{v1alpha1.ReasonFailedMount, mount}
	}
	for i := range p.Status.ContainerStatuses {
		if found := containerProblem(p, &p.Status.ContainerStatuses[i]); found.reason != "" {
			return found
		}
	}
	return problem{}
}

func containerProblem(p *corev1.Pod, s *corev1.ContainerStatus) problem {
	if line, failed := lastLine(s); failed && !s.Ready {
		switch p.Labels[v1alpha1.LabelComponent] {
		case v1alpha1.ComponentSchema, v1alpha1.ComponentFinalize:
			return problem{} // the conditions StorageReady and Finalized report it
		}
		return problem{v1alpha1.ReasonCrashing, "the container failed: " + cmp.Or(line, "see its log")}
	}
	if s.State.Waiting == nil {
		return problem{}
	}
	switch w := s.State.Waiting; w.Reason {
	case "ContainerCreating", "PodInitializing", "CrashLoopBackOff":
		return problem{}
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		// The kubelet's reason and message change while it retries.
		return problem{v1alpha1.ReasonImagePull, "the image " + s.Image + " cannot be pulled"}
	default:
		return problem{v1alpha1.ReasonContainerNotCreated, strings.TrimSuffix(w.Reason+": "+w.Message, ": ")}
	}
}

// lastLine returns the last line that a container logged before it failed. This line is the
// error, because containers have the policy FallbackToLogsOnError.
func lastLine(s *corev1.ContainerStatus) (line string, failed bool) {
	for _, end := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if end == nil || end.ExitCode == 0 {
			continue
		}
		if end.Reason == "OOMKilled" {
			return "it used more memory than its limit", true
		}
		text := strings.TrimSpace(end.Message)
		return text[strings.LastIndexByte(text, '\n')+1:], true
	}
	return "", false
}
