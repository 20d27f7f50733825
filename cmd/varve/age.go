package main

import (
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// age is a flag with a duration such as 30d.
type age v1alpha1.Duration

func (a *age) String() string { return string(*a) }

// Set implements pflag.Value.
func (a *age) Set(text string) error {
	_, err := v1alpha1.Duration(text).TimeDuration()
	if err == nil {
		*a = age(text)
	}
	return err
}

// Type implements pflag.Value.
func (a *age) Type() string { return "duration" }

// duration returns the duration, which is valid.
func (a *age) duration() time.Duration {
	d, _ := v1alpha1.Duration(*a).TimeDuration()
	return d
}
