package manifest

import "testing"

// TestSamplesAreValid checks that the samples are valid, because new users copy them and `make
// demo` archives them.
func TestSamplesAreValid(t *testing.T) {
	r := Load("../../config/samples")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	channels := 0
	for _, g := range r.Groups {
		channels += len(g.Spec.Channels)
	}
	if len(r.Groups) != 4 || channels != 105 {
		t.Errorf("%d groups with %d channels", len(r.Groups), channels)
	}
}
