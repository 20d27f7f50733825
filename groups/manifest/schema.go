package manifest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/charts"
)

// checker checks an object as an API server does when it is created: defaults, unknown fields,
// metadata, schema, list types and CEL rules, in this order.
type checker struct {
	structural *schema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
	// transitions are the messages of the rules that compare an object with the one that it replaces.
	transitions []string
}

// checkers have the checker of each kind. A checker is created when it is needed, because compiling the
// rules takes some time. The CRDs are embedded in the program.
var checkers = map[string]func() *checker{
	v1alpha1.KindArchiver:      lazy(charts.ArchiverCRD),
	v1alpha1.KindArchiveGroup:  lazy(charts.ArchiveGroupCRD),
	v1alpha1.KindArchivePolicy: lazy(charts.ArchivePolicyCRD),
	v1alpha1.KindArchiveShard:  lazy(charts.ArchiveShardCRD),

	v1alpha1.KindArchiveBackup:         lazy(charts.ArchiveBackupCRD),
	v1alpha1.KindArchiveBackupSchedule: lazy(charts.ArchiveBackupScheduleCRD),
	v1alpha1.KindArchiveRestore:        lazy(charts.ArchiveRestoreCRD),
}

func lazy(crd []byte) func() *checker {
	return sync.OnceValue(func() *checker {
		c, err := newChecker(crd)
		if err != nil {
			panic("BUG: the embedded CRD is invalid: " + err.Error())
		}
		return c
	})
}

func checkerOf(kind string) *checker { return checkers[kind]() }

func newChecker(crdYAML []byte) (*checker, error) {
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crdYAML, &external); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	if n := len(external.Spec.Versions); n != 1 {
		return nil, fmt.Errorf("the CRD has %d versions instead of 1", n)
	}
	var v apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(external.Spec.Versions[0].Schema, &v, nil)
	if err != nil {
		return nil, fmt.Errorf("converting the schema: %w", err)
	}
	structural, err := schema.NewStructural(v.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	openAPI, _, err := validation.NewSchemaValidator(v.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	c := &checker{structural: structural, openAPI: openAPI, rules: rules}
	c.transitions = transitions(v.OpenAPIV3Schema)
	return c, nil
}

// check returns the object as an ArchiveGroup, or what is wrong with it. It
// changes obj.
func (c *checker) check(obj map[string]any) (*v1alpha1.ArchiveGroup, []error) {
	if errs := c.complete(obj); len(errs) > 0 {
		return nil, errs
	}
	group := &v1alpha1.ArchiveGroup{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, group); err != nil {
		return nil, []error{fmt.Errorf("decoding: %w", err)}
	}
	if errs := checkNames(group.Spec.Channels); len(errs) > 0 {
		return nil, errs
	}
	return group, nil
}

// complete sets the defaults of an object, and returns what is wrong with it.
func (c *checker) complete(obj map[string]any) []error {
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, c.structural)
	defaulting.Default(obj, c.structural)
	delete(obj, "status") // its default says what an operator has not done yet; here is none
	if errs := c.unknownFields(obj); len(errs) > 0 {
		return errs
	}
	return c.validate(obj)
}

func (c *checker) unknownFields(obj map[string]any) []error {
	invalid, unknown := objectmeta.CoerceWithOptions(nil, obj, c.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if invalid != nil {
		return []error{invalid}
	}
	track := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	unknown = append(unknown, pruning.PruneWithOptions(obj, c.structural, true, track)...)
	var errs []error
	for _, path := range unknown {
		errs = append(errs, c.unknownField(path))
	}
	return errs
}

func (c *checker) validate(obj map[string]any) []error {
	meta := &unstructured.Unstructured{Object: obj}
	errs := metavalidation.ValidateObjectMetaAccessor(meta, true, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, obj, c.openAPI)...)
	errs = append(errs, objectmeta.Validate(nil, obj, c.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, obj)...)
	if !blocksRules(errs) {
		broken, _ := c.rules.Validate(context.Background(), nil, c.structural, obj, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	var out []error
	for _, err := range clarify(obj, errs) {
		out = append(out, err)
	}
	return out
}

// blocksRules reports whether the object has errors that prevent the CEL rules from running,
// by the same criteria as the API server.
func blocksRules(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		default:
		}
	}
	return false
}

// fieldOf returns the path of the field of an error, or "".
func fieldOf(err error) string {
	var unknown unknownFieldError
	if errors.As(err, &unknown) {
		return unknown.path
	}
	var invalid *field.Error
	if errors.As(err, &invalid) {
		return invalid.Field
	}
	return ""
}
