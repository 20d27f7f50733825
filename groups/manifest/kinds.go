package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"varve.dev/varve/api/v1alpha1"
)

// IsKnown reports whether Check can check the object: its kind is one of Varve's, or a ConfigMap.
func (o *Object) IsKnown() bool {
	return o.isOurs() || o.APIVersion == "v1" && o.Kind == "ConfigMap"
}

func (o *Object) isOurs() bool {
	return o.APIVersion == v1alpha1.GroupVersion.String() && checkers[o.Kind] != nil
}

// Resembles returns why the kind of an object that is not known may be a mistake, or "". wrong means that it is one. A
// document without apiVersion and kind may be anything, such as the values of a Helm chart.
func (o *Object) Resembles() (why string, wrong bool) {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	ours := checkers[o.Kind] != nil
	switch {
	case o.APIVersion == "" && o.Kind == "":
		return "", false
	case o.APIVersion == "" || o.Kind == "":
		return fmt.Sprintf("apiVersion is %s and kind is %s: an object needs both", quote(o.content["apiVersion"]), quote(o.content["kind"])), true
	case group == v1alpha1.GroupVersion.Group && !ours:
		return fmt.Sprintf("%s has no kind %s; its kinds are %s", group, o.Kind, strings.Join(slices.Sorted(maps.Keys(checkers)), ", ")), true
	case group == v1alpha1.GroupVersion.Group:
		return fmt.Sprintf("apiVersion %s does not exist: write %s", o.APIVersion, v1alpha1.GroupVersion), true
	case ours:
		return fmt.Sprintf("apiVersion is %s, so this is no %s of Varve, whose apiVersion is %s", o.APIVersion, o.Kind, v1alpha1.GroupVersion), false
	}
	return "", false
}

// Check checks a known object as an API server does when the object is created, and returns it with defaults: the Go
// type of its kind. It returns what is wrong with an invalid object instead. The content of the object changes.
func (o *Object) Check() (any, []*Error) {
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if meta, ok := o.content["metadata"].(map[string]any); ok && meta["namespace"] == nil {
		meta["namespace"] = o.Namespace
	}
	var out any
	var errs []error
	if o.isOurs() {
		out, errs = o.checkOurs()
	} else {
		var cm *corev1.ConfigMap
		if cm, errs = checkConfigMap(o.content); len(errs) == 0 {
			errs = checkData(cm)
		}
		out = cm
	}
	var wrapped []*Error
	for _, err := range errs {
		wrapped = append(wrapped, o.wrap(err))
	}
	if len(wrapped) > 0 {
		return nil, wrapped
	}
	return out, nil
}

func (o *Object) checkOurs() (any, []error) {
	delete(o.content, "status") // an API server ignores it
	if errs := checkerOf(o.Kind).complete(o.content); len(errs) > 0 {
		return nil, errs
	}
	var out any
	switch o.Kind {
	case v1alpha1.KindArchiver:
		out = &v1alpha1.Archiver{}
	case v1alpha1.KindArchiveGroup:
		out = &v1alpha1.ArchiveGroup{}
	case v1alpha1.KindArchivePolicy:
		out = &v1alpha1.ArchivePolicy{}
	case v1alpha1.KindArchiveShard:
		out = &v1alpha1.ArchiveShard{}
	case v1alpha1.KindArchiveBackup:
		out = &v1alpha1.ArchiveBackup{}
	case v1alpha1.KindArchiveBackupSchedule:
		out = &v1alpha1.ArchiveBackupSchedule{}
	case v1alpha1.KindArchiveRestore:
		out = &v1alpha1.ArchiveRestore{}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.content, out); err != nil {
		return nil, []error{fmt.Errorf("decoding: %w", err)}
	}
	return out, nil
}

// checkData checks the content of a ConfigMap, which lists of many PVs may make too large for an API server.
func checkData(cm *corev1.ConfigMap) (errs []error) {
	size := 0
	check := func(name, key string, n int) {
		size += n
		for _, problem := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(field.NewPath(name).Key(key), key, problem))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		check("data", key, len(cm.Data[key]))
		if _, twice := cm.BinaryData[key]; twice {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "binaryData has the key, too"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(cm.BinaryData)) {
		check("binaryData", key, len(cm.BinaryData[key]))
	}
	if size > corev1.MaxSecretSize {
		err := field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize)
		err.Detail += fmt.Sprintf(", and has %d; divide the list into several ConfigMaps", size)
		errs = append(errs, err)
	}
	return errs
}

// Transitions returns what the rules of a kind demand that compare an object with the one that it replaces. Check does
// not apply these rules, because files do not have the former object.
func Transitions(kind string) []string {
	if checkers[kind] == nil {
		return nil
	}
	return checkerOf(kind).transitions
}

// transitions returns the messages of the rules in a schema that use the former object, each once.
func transitions(s *apiextensions.JSONSchemaProps) []string {
	found := map[string]bool{}
	var walk func(s *apiextensions.JSONSchemaProps)
	walk = func(s *apiextensions.JSONSchemaProps) {
		for _, rule := range s.XValidations {
			if strings.Contains(rule.Rule, "oldSelf") {
				found[rule.Message] = true
			}
		}
		for _, p := range s.Properties {
			walk(&p)
		}
		if s.Items != nil && s.Items.Schema != nil {
			walk(s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(s.AdditionalProperties.Schema)
		}
	}
	walk(s)
	return slices.Sorted(maps.Keys(found))
}
