package archiver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apps "k8s.io/client-go/applyconfigurations/apps/v1"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/render"
)

// staged are the objects to apply now.
type staged struct {
	wanted []render.Object
	// keep has the objects to keep although they are not wanted.
	keep []childKey
	// step is what Deployments wait for.
	step archiverstatus.Step
	// templates has the hash of the wanted pod template of each Deployment.
	templates map[string]string
}

// stage replaces the objects of later steps of a change by those that exist, so that pods that work are
// replaced only once the step before works:
//
//	schema Job complete ──▶ retrieval pods replaced and ready ──▶ engines, one at a time
//
// A Deployment that waits keeps its pod template; everything else of it is applied, such as the number of
// replicas. Pods that never worked are replaced at once. While spec.paused is true, no step begins, and a
// step that has begun stops.
func stage(a *v1alpha1.Archiver, wanted []render.Object, live map[childKey]client.Object) (staged, error) {
	s := staged{wanted: wanted, templates: map[string]string{}}
	next := archiverstatus.StepNone
	switch {
	case !render.Embedded(a):
		next = schemaStep(wanted, live)
	case archiverstatus.OperatorTooOld(a):
		next = archiverstatus.StepFormat
	}
	if a.Spec.Paused {
		next = archiverstatus.StepPaused
		s.step, s.keep = next, pauseSchema(&s.wanted, live)
	}
	for _, name := range []string{render.RetrievalName(a.Name), render.EngineName(a.Name)} {
		d := deploymentOf(wanted, name)
		if d == nil {
			continue
		}
		have, _ := live[childKey{"Deployment", name}].(*appsv1.Deployment)
		hash := hashOf(d)
		s.templates[name] = hash
		waits, err := hold(d, have, hash, next)
		if err != nil {
			return s, fmt.Errorf("holding the pod template of Deployment %s: %w", name, err)
		}
		if waits {
			s.step = next
		}
		if next == archiverstatus.StepNone && name == render.RetrievalName(a.Name) && !archiverstatus.RolledOut(have, hash) {
			next = archiverstatus.StepRetrieval
		}
	}
	return s, nil
}

// schemaStep returns the step that waits for the schema Job, or StepNone once the wanted Job is complete.
func schemaStep(wanted []render.Object, live map[childKey]client.Object) archiverstatus.Step {
	for _, o := range wanted {
		if _, ok := o.(*batch.JobApplyConfiguration); !ok {
			continue
		}
		if job, ok := live[keyOf(o)].(*batchv1.Job); !ok || !archiverstatus.Complete(job) {
			return archiverstatus.StepSchema
		}
	}
	return archiverstatus.StepNone
}

// finalizeJob returns the Job that finalizes an upgrade, if it runs now.
func finalizeJob(in render.Input, f archiverstatus.Finalization) []render.Object {
	if f.To == 0 {
		return nil
	}
	return []render.Object{render.FinalizeJob(in, f.To)}
}

// pauseSchema removes the wanted schema Job if another one exists, and returns those that exist.
func pauseSchema(wanted *[]render.Object, live map[childKey]client.Object) (keep []childKey) {
	jobs := schemaJobs(live)
	for _, job := range jobs {
		keep = append(keep, childKey{"Job", job.Name})
	}
	*wanted = slices.DeleteFunc(*wanted, func(o render.Object) bool {
		_, ok := o.(*batch.JobApplyConfiguration)
		return ok && len(jobs) > 0
	})
	return keep
}

func deploymentOf(wanted []render.Object, name string) *apps.DeploymentApplyConfiguration {
	for _, o := range wanted {
		if d, ok := o.(*apps.DeploymentApplyConfiguration); ok && *d.Name == name {
			return d
		}
	}
	return nil
}

// hashOf returns the hash of a Deployment's pod template.
func hashOf(d *apps.DeploymentApplyConfiguration) string {
	text, err := json.Marshal(d.Spec.Template)
	if err != nil {
		panic("BUG: encoding a pod template: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// hold makes a wanted Deployment keep the pod template that it has, if its pods worked and another step
// comes first. It reports whether the Deployment waits for a new template.
func hold(d *apps.DeploymentApplyConfiguration, have *appsv1.Deployment, hash string, first archiverstatus.Step) (waits bool, err error) {
	d.WithAnnotations(map[string]string{archiverstatus.AnnotationTemplate: hash})
	if have == nil {
		return false, nil
	}
	worked := have.Annotations[archiverstatus.AnnotationWorked]
	switch {
	case archiverstatus.RolledOut(have, hash):
		worked = hash
	case worked == "" && have.Status.ReadyReplicas > 0:
		worked = "partly"
	case worked == "":
		return false, nil
	}
	d.WithAnnotations(map[string]string{archiverstatus.AnnotationWorked: worked})
	if first == archiverstatus.StepPaused {
		d.Spec.WithPaused(true)
	}
	now := have.Annotations[archiverstatus.AnnotationTemplate]
	if first == archiverstatus.StepNone || now == hash {
		return false, nil
	}
	applied, err := apps.ExtractDeployment(have, v1alpha1.FieldManager)
	if err != nil {
		return true, err
	}
	if applied.Spec == nil { // another program has written the object, such as one that restores a backup: its template stays
		applied.Spec = apps.DeploymentSpec()
	}
	d.Spec.Template = applied.Spec.Template
	d.Annotations[archiverstatus.AnnotationTemplate] = now
	return true, nil
}
