package main

import (
	"errors"
	"fmt"
	"strings"
)

// byteSize is a flag whose value is a number of bytes with an optional binary suffix.
type byteSize int64

var byteUnits = []struct {
	suffix string
	size   int64
}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}}

// String implements pflag.Value.
func (b *byteSize) String() string {
	for i := len(byteUnits) - 1; i >= 0; i-- {
		if u := byteUnits[i]; *b != 0 && int64(*b)%u.size == 0 {
			return fmt.Sprintf("%d%s", int64(*b)/u.size, u.suffix)
		}
	}
	return fmt.Sprint(int64(*b))
}

// Set implements pflag.Value.
func (b *byteSize) Set(text string) error {
	size := int64(1)
	for _, u := range byteUnits {
		if num, ok := strings.CutSuffix(text, u.suffix); ok {
			text, size = num, u.size
		}
	}
	var n int64
	if _, err := fmt.Sscanf(text+"\n", "%d\n", &n); err != nil || n < 0 || n > 1<<62/size {
		return errors.New("not a number of bytes such as 512Mi; the suffixes are Ki, Mi, Gi and Ti")
	}
	*b = byteSize(n * size)
	return nil
}

// Type implements pflag.Value.
func (b *byteSize) Type() string { return "size" }
