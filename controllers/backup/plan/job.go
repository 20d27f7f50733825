package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// State is how far a Job is.
type State int

// States of Jobs.
const (
	// Missing: there is no such Job.
	Missing State = iota
	// Running: the Job has not ended, or its pod's result is not known yet.
	Running
	// Succeeded: the program ended with exit code 0.
	Succeeded
	// Problems: the program ended with exit code 1: it did its work, and found damage.
	Problems
	// Failed: the Job has failed, and is not tried again.
	Failed
)

// Job is what a Job about a backup has done.
type Job struct {
	State State
	// Name is the name of the Job.
	Name string
	// Created and Ended are when the Job was created, and when it ended.
	Created, Ended time.Time
	// Result is what the program reported. It is nil if that is unknown.
	Result *Result
	// Said says why the last try failed. It is "" if no try failed.
	Said string
	// Waits says why the pod does not start. It is "" if it has started.
	Waits string
}

// Result is the part of the program's result (--result) that the operator uses.
type Result struct {
	Source        string           `json:"source"`
	End           *time.Time       `json:"end"`
	Rows          map[string]int64 `json:"rows"`
	PVs           int64            `json:"pvs"`
	Bytes         int64            `json:"bytes"`
	CompleteUntil *time.Time       `json:"completeUntil"`
	Damaged       int64            `json:"damaged"`
	NewBytes      int64            `json:"newBytes"`
	Already       bool             `json:"already"`
	Expired       int64            `json:"expired"`
	Problems      []string         `json:"problems"`
	Error         string           `json:"error"`
}

const (
	// resultPatience is how long the state of a pod may arrive after that of its Job.
	resultPatience = 30 * time.Second
	// maxTermination bounds what is decoded. The kubelet cuts termination messages to 4096 bytes.
	maxTermination = 16 << 10
	// maxText is the maximum size of a text from the program in a status.
	maxText = 1000
)

// ObserveJob returns what a Job has done. pods are the pods of its object, also of other Jobs.
func ObserveJob(job *batchv1.Job, pods []corev1.Pod, now time.Time) Job {
	out := Job{State: Running, Name: job.Name, Created: job.CreationTimestamp.Time}
	end := out.lastEnd(pods)
	if end != nil {
		out.read(end)
	}
	complete, failure := finished(job)
	if complete == nil && failure == nil {
		return out
	}
	out.Ended = cmp.Or(complete, failure).LastTransitionTime.Time
	known := end != nil && (end.ExitCode == 0) == (complete != nil)
	if !known && now.Sub(out.Ended) < resultPatience {
		return out
	}
	out.Waits = ""
	switch {
	case complete != nil:
		out.State, out.Said = Succeeded, ""
	case known && end.ExitCode == 1 && out.Result != nil && out.Result.End != nil:
		out.State = Problems
	default:
		out.State = Failed
		out.Said = cmp.Or(out.Said, clip(failure.Message), "see the log of Job "+job.Name)
	}
	return out
}

// lastEnd returns the last end of the program, or nil, and notes why a pod waits. A successful end is the last one.
func (j *Job) lastEnd(pods []corev1.Pod) (last *corev1.ContainerStateTerminated) {
	for i := range pods {
		p := &pods[i]
		if p.Labels[batchv1.JobNameLabel] != j.Name {
			continue
		}
		end := ended(p)
		switch {
		case end == nil:
			j.Waits = waits(p)
		case last == nil, end.ExitCode == 0, last.ExitCode != 0 && last.FinishedAt.Time.Before(end.FinishedAt.Time):
			last = end
		}
	}
	return last
}

// read reads what the program said when it ended.
func (j *Job) read(end *corev1.ContainerStateTerminated) {
	text := strings.TrimSpace(end.Message)
	var r Result
	if len(text) <= maxTermination && strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &r) == nil {
		j.Result, text = &r, r.Error
	} else {
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	switch {
	case end.ExitCode == 0:
	case end.Reason == "OOMKilled":
		j.Said = "the program used more memory than its limit"
	default:
		j.Said = cmp.Or(clip(text), fmt.Sprintf("the program ended with exit code %d; see the log of Job %s", end.ExitCode, j.Name))
	}
}

// ended returns the end of the container of a pod, or nil.
func ended(p *corev1.Pod) *corev1.ContainerStateTerminated {
	for i := range p.Status.ContainerStatuses {
		if end := p.Status.ContainerStatuses[i].State.Terminated; end != nil {
			return end
		}
	}
	return nil
}

// waits returns why the container of a pod does not run, or "".
func waits(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return clip(c.Message)
		}
	}
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		if s.State.Waiting == nil {
			continue
		}
		switch w := s.State.Waiting; w.Reason {
		case "", "ContainerCreating", "PodInitializing":
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
			return "the image " + s.Image + " cannot be pulled"
		default:
			return clip(strings.TrimSuffix(w.Reason+": "+w.Message, ": "))
		}
	}
	return ""
}

// finished returns the condition of a Job that has ended.
func finished(job *batchv1.Job) (complete, failure *batchv1.JobCondition) {
	for i := range job.Status.Conditions {
		switch c := &job.Status.Conditions[i]; {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			complete = c
		case c.Type == batchv1.JobFailed:
			failure = c
		}
	}
	return complete, failure
}

// clip cuts a text of the program to maxText bytes of valid UTF-8.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// Use is how a Job uses an archive and a folder with backups.
type Use struct{ Verb, Archiver, Place string }

// Conflict returns why a Job must wait for one of other Jobs of the namespace, or "":
//
//	delete   waits for all Jobs at the same folder, and they wait for it
//	create   waits for another create, and for a restore, of the same archive
//	restore  waits for another restore, and for a create, of the same archive
func Conflict(u Use, jobs []batchv1.Job) string {
	for i := range jobs {
		j := &jobs[i]
		other := Use{j.Labels[v1alpha1.LabelBackupVerb], j.Labels[v1alpha1.LabelArchiver], j.Labels[v1alpha1.LabelBackupPlace]}
		if complete, failure := finished(j); complete != nil || failure != nil || other.Verb == "" {
			continue
		}
		samePlace := other.Place == u.Place && (u.Verb == render.DeleteBackup || other.Verb == render.DeleteBackup)
		sameArchive := other.Archiver == u.Archiver && u.usesArchive() && other.usesArchive()
		switch {
		case samePlace:
			return fmt.Sprintf("Job %s uses the same folder", j.Name)
		case sameArchive:
			return fmt.Sprintf("Job %s uses the same archive", j.Name)
		}
	}
	return ""
}

func (u Use) usesArchive() bool {
	return u.Verb == render.CreateBackup || u.Verb == render.RestoreBackup
}
