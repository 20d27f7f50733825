package search

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Variable is an environment variable of EPICS. Set parses and sets its value.
type Variable struct {
	Name string
	Set  func(value string) error
}

// ReadEnv reads variables and sets their values. lookup is os.LookupEnv or a similar function.
// As in EPICS base, an empty value counts as unset. The error for a wrong value names the
// variable.
func ReadEnv(lookup func(name string) (value string, ok bool), variables ...Variable) error {
	for _, v := range variables {
		value, _ := lookup(v.Name)
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		if err := v.Set(value); err != nil {
			return fmt.Errorf("reading %s=%q: %w", v.Name, value, err)
		}
	}
	return nil
}

// SetList returns a function that sets a list of addresses, separated by white space.
func SetList(to *[]string) func(string) error {
	return func(s string) error {
		list := strings.Fields(s)
		for _, a := range list {
			if _, _, err := SplitAddress(a, 1); err != nil {
				return err
			}
		}
		*to = list
		return nil
	}
}

// SetPort returns a function that sets a port.
func SetPort(to *uint16) func(string) error {
	return func(s string) (err error) {
		*to, err = ParsePort(s)
		return err
	}
}

// SetYesNo returns a function that sets a boolean, given as YES or NO, or as 1 or 0.
func SetYesNo(to *bool) func(string) error {
	return func(s string) error {
		switch strings.ToUpper(s) {
		case "YES", "1":
			*to = true
		case "NO", "0":
			*to = false
		default:
			return errors.New("it is neither YES nor NO")
		}
		return nil
	}
}

// SetSeconds returns a function that sets a duration, given in seconds.
func SetSeconds(to *time.Duration) func(string) error {
	return func(s string) error {
		const most = 24 * 60 * 60
		secs, err := strconv.ParseFloat(s, 64)
		if err != nil || !(secs >= 0.1 && secs <= most) {
			return fmt.Errorf("it is not a number of seconds from 0.1 to %d", most)
		}
		*to = time.Duration(secs * float64(time.Second))
		return nil
	}
}
