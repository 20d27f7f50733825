package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// checkNames finds errors that a schema cannot find: invalid PV names, and a PV that occurs
// under two names.
func checkNames(channels []v1alpha1.Channel) []error {
	var errs []error
	first := make(map[string]int, len(channels))
	for i, c := range channels {
		path := field.NewPath("spec", "channels").Index(i).Child("name")
		pv := pvname.Canonical(c.Name)
		if err := pvname.Check(pv); err != nil {
			errs = append(errs, field.Invalid(path, c.Name, err.Error()))
			continue
		}
		if j, twice := first[pv]; twice {
			err := field.Duplicate(path, c.Name)
			err.Detail = fmt.Sprintf("the same PV as %q (spec.channels[%d])", channels[j].Name, j)
			errs = append(errs, err)
			continue
		}
		first[pv] = i
	}
	return errs
}
