package v1alpha1

// Retention defines how long raw samples and rollups are kept.
type Retention struct {
	// raw is how long raw samples are kept. Default: forever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*[1-9][0-9]*(h|d|w|y)$')",message="raw must be at least 1h, in units of h, d, w or y"
	Raw *Duration `json:"raw,omitempty"`

	// rollups are the rollup levels, from fine to coarse. A coarser rollup is kept at least as
	// long as a finer one.
	// +optional
	// +listType=map
	// +listMapKey=every
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="[self.map(r, int(r.every.find('^[0-9]+')) * {'ms': 1, 's': 1000, 'm': 60000, 'h': 3600000, 'd': 86400000, 'w': 604800000, 'y': 31536000000}[r.every.find('[a-z]+$')])].all(l, l.isSorted() && l.all(x, l.exists_one(y, x == y)))",message="rollups must be in ascending order of every, without duplicates"
	// +kubebuilder:validation:XValidation:rule="self.map(r, has(r.keep) ? int(r.keep.find('^[0-9]+')) * {'ms': 1, 's': 1000, 'm': 60000, 'h': 3600000, 'd': 86400000, 'w': 604800000, 'y': 31536000000}[r.keep.find('[a-z]+$')] : 9223372036854775807).isSorted()",message="rollups must not have a shorter keep than a finer rollup"
	Rollups []Rollup `json:"rollups,omitempty"`
}

// Rollup summarizes the samples of a PV in bins of equal width.
type Rollup struct {
	// every is the width of a bin. It is at least 1s.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*([1-9][0-9]{3,}ms|[1-9][0-9]*(s|m|h|d|w|y))$')",message="every must be at least 1s"
	Every Duration `json:"every,omitempty"`
	// keep is how long bins are kept. Default: forever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*[1-9][0-9]*(h|d|w|y)$')",message="keep must be at least 1h, in units of h, d, w or y"
	Keep *Duration `json:"keep,omitempty"`
}
