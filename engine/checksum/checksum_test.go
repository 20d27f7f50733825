package checksum

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// TestGolden compares with the check value of CRC-32C, 0xE3069283 for "123456789", from the
// catalogue of parametrised CRC algorithms.
func TestGolden(t *testing.T) {
	if got := hex.EncodeToString(Append([]byte("123456789"), 0)); got != "313233343536373839839206e3" {
		t.Errorf("Append made %s", got)
	}
}

// TestFlippedBits checks that a change of any bit, and any truncation, is detected.
func TestFlippedBits(t *testing.T) {
	whole := Append([]byte("a prefix, then a row"), 9, []byte("its index")...)
	if got, err := Strip(whole[9:], []byte("its index")...); err != nil || string(got) != " then a row" {
		t.Fatalf("Strip returned %q, %v", got, err)
	}
	for i := range 8 * len(whole[9:]) {
		b := bytes.Clone(whole[9:])
		b[i/8] ^= 1 << (i % 8)
		if _, err := Strip(b, []byte("its index")...); !errors.Is(err, ErrMismatch) {
			t.Errorf("with bit %d changed, Strip returned %v", i, err)
		}
	}
	for n := range len(whole[9:]) {
		if _, err := Strip(whole[9:][:n], []byte("its index")...); !errors.Is(err, ErrMismatch) {
			t.Errorf("of the first %d bytes, Strip returned %v", n, err)
		}
	}
	if _, err := Strip(whole[9:], []byte("its_index")...); !errors.Is(err, ErrMismatch) {
		t.Errorf("with another context, Strip returned %v", err)
	}
}
