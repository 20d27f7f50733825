package manifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"varve.dev/varve/api/v1alpha1"
)

// objects are the objects in files.
type objects struct {
	groups     []*v1alpha1.ArchiveGroup
	configMaps []*corev1.ConfigMap
}

// add adds an object, or returns what is wrong with it. An object without a namespace gets
// the one that kubectl would use. add changes obj.
func (o *objects) add(obj map[string]any) []error {
	if meta, ok := obj["metadata"].(map[string]any); ok && meta["namespace"] == nil {
		meta["namespace"] = "default"
	}
	version, kind := v1alpha1.GroupVersion.String(), v1alpha1.KindArchiveGroup
	switch {
	case obj["apiVersion"] == version && obj["kind"] == kind:
		delete(obj, "status") // as a cluster does, when an object is created
		group, errs := checkerOf(v1alpha1.KindArchiveGroup).check(obj)
		if len(errs) == 0 {
			o.groups = append(o.groups, group)
		}
		return errs
	case obj["apiVersion"] == "v1" && obj["kind"] == "ConfigMap":
		cm, errs := checkConfigMap(obj)
		if len(errs) == 0 {
			o.configMaps = append(o.configMaps, cm)
		}
		return errs
	}
	return []error{fmt.Errorf("apiVersion is %v and kind is %v: files may contain only %s of %s and ConfigMap of v1",
		quote(obj["apiVersion"]), quote(obj["kind"]), kind, version)}
}

func quote(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return "missing"
}

// checkConfigMap returns the ConfigMap, or what is wrong with it.
func checkConfigMap(obj map[string]any) (*corev1.ConfigMap, []error) {
	cm := &corev1.ConfigMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj, cm, true); err != nil {
		return nil, []error{fmt.Errorf("decoding a ConfigMap: %w", err)}
	}
	var errs []error
	for _, err := range metavalidation.ValidateObjectMeta(&cm.ObjectMeta, true, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		errs = append(errs, err)
	}
	return cm, errs
}

// stale returns the objects of o that are missing in fresh.
func (o objects) stale(fresh objects) objects {
	return objects{groups: missing(o.groups, fresh.groups), configMaps: missing(o.configMaps, fresh.configMaps)}
}

func missing[T metav1.Object](before, now []T) (out []T) {
	present := map[string]bool{}
	for _, obj := range now {
		present[key(obj)] = true
	}
	for _, obj := range before {
		if !present[key(obj)] {
			out = append(out, obj)
		}
	}
	return out
}

func (o objects) with(more objects) objects {
	return objects{
		groups:     append(o.groups[:len(o.groups):len(o.groups)], more.groups...),
		configMaps: append(o.configMaps[:len(o.configMaps):len(o.configMaps)], more.configMaps...),
	}
}

func key(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
