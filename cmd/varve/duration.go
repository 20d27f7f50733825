package main

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"varve.dev/varve/api/v1alpha1"
)

// duration is a flag with a duration such as 500ms, 1h30m or 1d. Manifests have the same units.
type duration time.Duration

// String implements pflag.Value.
func (d *duration) String() string { return time.Duration(*d).String() }

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		parsed, err = v1alpha1.Duration(text).TimeDuration()
	}
	if err != nil {
		return errors.New("not a duration; write a number and one of the units ms, s, m, h, d, w and y, such as 500ms, 15m or 1d")
	}
	*d = duration(parsed)
	return nil
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

// addDuration adds a flag with a duration. The default is value.
func addDuration(f *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	f.Var((*duration)(p), name, usage)
}
