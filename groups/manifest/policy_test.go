package manifest

import (
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/manifest/manifesttest"
)

// TestPoliciesAreValidated checks that an ArchivePolicy refuses mistakes, and says what would be right.
func TestPoliciesAreValidated(t *testing.T) {
	c := checkerOf(v1alpha1.KindArchivePolicy)
	for _, tc := range manifesttest.Policies() {
		errs := c.validate(object(t, c, tc.Manifest))
		if (tc.Want == "") != (len(errs) == 0) || (tc.Want != "" && !mention(errs, tc.Want)) {
			t.Errorf("%s: %v\nwant: %s", tc.Manifest, errs, tc.Want)
		}
	}
}
