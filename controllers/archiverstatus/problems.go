package archiverstatus

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// problem is a problem that a user may have to solve.
type problem struct{ reason, message string }

// shown is the maximum number of problems in a message.
const shown = 4

// reportPatience is how long an engine can be ready without a report.
const reportPatience = 30 * time.Second

// checks are the checks for problems, the most specific first.
var checks = []func(*Input) []problem{
	cassandraProblem,
	crdMissing,
	refused,
	notCreated,
	podProblems,
	enginesLost,
	blindEngines,
	storageProblem,
	schemaProblem,
	operatorTooOld,
	finalizeProblem,
	sealingLags,
	damagedData,
	noReports,
	wrongClocks,
	searchesIncomplete,
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

// degraded returns the condition Degraded with the problems.
func degraded(problems []problem) metav1.Condition {
	if len(problems) == 0 {
		return metav1.Condition{
			Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAsExpected,
			Message: "there are no problems",
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

// crdMissing says which CRD to apply.
func crdMissing(in *Input) []problem {
	if in.MissingCRD == "" {
		return nil
	}
	return []problem{{v1alpha1.ReasonCRDMissing, fmt.Sprintf("the CRD %s is missing: engines continue to capture the same PVs, no data is deleted, "+
		"and changes of ArchiveGroups wait; install the operator's chart with crds.enabled=true, or run "+
		"kubectl apply --server-side -f charts/varve-operator/files/crds", in.MissingCRD)}}
}

// enginesLost counts the engines that no longer renew their Lease.
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
	return []problem{{v1alpha1.ReasonEngineLost, fmt.Sprintf("%s no longer renewing a Lease: other engines take over the shards", enginesAre(n))}}
}

// storageProblem returns a problem if the storage is unreachable or its schema failed, but not
// while the schema is being created.
func storageProblem(in *Input) []problem {
	switch c := storageReady(in); c.Reason {
	case v1alpha1.ReasonAway:
		return []problem{{v1alpha1.ReasonStorageAway, c.Message}}
	case v1alpha1.ReasonSchemaFailed:
		return []problem{{v1alpha1.ReasonSchemaFailed, c.Message}}
	}
	return nil
}

// noReports counts the engines that Kubernetes can reach but the operator cannot reach.
func noReports(in *Input) []problem {
	if !in.Synced {
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
		"%s ready but unreachable for the operator: check that no network policy blocks the port internal of the engines", enginesAre(n))}}
}

// readySince returns when a pod became ready, or now if it is not ready.
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

// shardObjects counts the shards whose ArchiveShard is missing. Engines continue to capture them.
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
		"engines continue to capture %d shards whose ArchiveShard is missing or does not name them", len(orphaned))}}
}

func enginesAre(n int) string {
	if n == 1 {
		return "1 engine is"
	}
	return fmt.Sprintf("%d engines are", n)
}
