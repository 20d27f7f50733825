package archiverstatus

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// problem is something that a person may have to look at.
type problem struct{ reason, message string }

// shown is the most problems that a message lists.
const shown = 4

// reportPatience is how long an engine may be ready before it reports.
const reportPatience = 30 * time.Second

// checks look for problems, the most telling first.
var checks = []func(*Input) []problem{
	cassandraProblem,
	refused,
	notCreated,
	podProblems,
	enginesLost,
	storageProblem,
	noReports,
	shardObjects,
	circuits,
	autoscalerProblems,
}

func problems(in *Input) []problem {
	var all []problem
	for _, check := range checks {
		all = append(all, check(in)...)
	}
	return all
}

// degraded: something is not as asked.
func degraded(problems []problem) metav1.Condition {
	if len(problems) == 0 {
		return metav1.Condition{
			Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAsExpected,
			Message: "nothing is wrong",
		}
	}
	var messages []string
	for _, p := range problems[:min(len(problems), shown)] {
		messages = append(messages, p.message)
	}
	if more := len(problems) - shown; more > 0 {
		messages = append(messages, fmt.Sprintf("and %d more", more))
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: problems[0].reason,
		Message: strings.Join(messages, "; "),
	}
}

func refused(in *Input) []problem {
	if in.Refused == "" {
		return nil
	}
	return []problem{{v1alpha1.ReasonRefused, in.Refused}}
}

// enginesLost counts engines that no longer renew their Lease.
func enginesLost(in *Input) []problem {
	n := 0
	for i := range in.Fleet {
		if in.Fleet[i].Dead {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []problem{{v1alpha1.ReasonEngineLost, fmt.Sprintf("%s without a live Lease: others take the shards", enginesAre(n))}}
}

// storageProblem tells a storage that went away, or that can not be set up, from
// one that is being set up.
func storageProblem(in *Input) []problem {
	switch c := storageReady(in); c.Reason {
	case v1alpha1.ReasonAway:
		return []problem{{v1alpha1.ReasonStorageAway, c.Message}}
	case v1alpha1.ReasonSchemaFailed:
		return []problem{{v1alpha1.ReasonSchemaFailed, c.Message}}
	}
	return nil
}

// noReports counts engines that Kubernetes can reach and the operator can not.
func noReports(in *Input) []problem {
	if !in.Settled {
		return nil
	}
	n := 0
	for i := range in.Fleet {
		if e := &in.Fleet[i]; e.Report == nil && !e.Dead && !e.Deleting && in.Now.Sub(readySince(in, e.Name)) > reportPatience {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []problem{{v1alpha1.ReasonNoReport, fmt.Sprintf(
		"%s ready but not reporting: does a network policy keep the operator from port 17665?", enginesAre(n))}}
}

// readySince returns since when a pod is ready: now if it is not.
func readySince(in *Input, pod string) time.Time {
	for i := range in.Pods {
		if p := &in.Pods[i]; p.Name == pod {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					return c.LastTransitionTime.Time
				}
			}
		}
	}
	return in.Now
}

// shardObjects counts shards whose order to be captured is gone. Capture goes on.
func shardObjects(in *Input) []problem {
	orphaned := map[int]bool{}
	for i := range in.Fleet {
		r := in.Fleet[i].Report
		if r == nil {
			continue
		}
		for _, s := range r.Shards {
			if s.Orphaned {
				orphaned[s.Index] = true
			}
		}
	}
	if len(orphaned) == 0 {
		return nil
	}
	return []problem{{v1alpha1.ReasonShardObjectMissing, fmt.Sprintf(
		"engines go on with %d shards whose ArchiveShard is missing or does not name them", len(orphaned))}}
}

func enginesAre(n int) string {
	if n == 1 {
		return "1 engine is"
	}
	return fmt.Sprintf("%d engines are", n)
}
