package v1alpha1

// Retention says how long raw samples and their decimated forms are kept.
type Retention struct {
	// raw is how long samples are kept as they came. Default: forever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*[1-9][0-9]*(h|d|w|y)$')",message="raw data is kept for at least 1h, given in h, d, w or y"
	Raw *Duration `json:"raw,omitempty"`

	// rollups are levels of decimated data, from fine to coarse. A coarser
	// level is kept at least as long as a finer one.
	// +optional
	// +listType=map
	// +listMapKey=every
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="[self.map(r, int(r.every.find('^[0-9]+')) * {'ms': 1, 's': 1000, 'm': 60000, 'h': 3600000, 'd': 86400000, 'w': 604800000, 'y': 31536000000}[r.every.find('[a-z]+$')])].all(l, l.isSorted() && l.all(x, l.exists_one(y, x == y)))",message="rollups must be in order, the smallest every first"
	// +kubebuilder:validation:XValidation:rule="self.map(r, has(r.keep) ? int(r.keep.find('^[0-9]+')) * {'ms': 1, 's': 1000, 'm': 60000, 'h': 3600000, 'd': 86400000, 'w': 604800000, 'y': 31536000000}[r.keep.find('[a-z]+$')] : 9223372036854775807).isSorted()",message="rollups: keep must not decrease with the level"
	Rollups []Rollup `json:"rollups,omitempty"`
}

// Rollup is one level of decimated data.
type Rollup struct {
	// every is the width of a bin, at least 1s.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*([1-9][0-9]{3,}ms|[1-9][0-9]*(s|m|h|d|w|y))$')",message="every must be at least 1s"
	Every Duration `json:"every,omitempty"`
	// keep is how long bins are kept. Default: forever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*[1-9][0-9]*(h|d|w|y)$')",message="data is kept for at least 1h, given in h, d, w or y"
	Keep *Duration `json:"keep,omitempty"`
}
