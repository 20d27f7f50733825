package pbfile

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Partition is the range of times that a file may hold, in ns since 1970: from Start up to, not
// including, End.
type Partition struct{ Start, End int64 }

// IsZero reports whether the partition is not set.
func (p Partition) IsZero() bool { return p == Partition{} }

// layouts are the forms of a partition in the name of a file, by the number of their parts: year,
// month, day, hour, and minute. The Appliance's 5, 15 and 30 minutes have the same form.
var layouts = [...]string{"2006", "2006_01", "2006_01_02", "2006_01_02_15", "2006_01_02_15_04"}

// FileName is what the name of a file says.
type FileName struct {
	// Key is the name of the PV in the form that the Appliance uses for files, perhaps after the
	// names of directories: its : and - became /.
	Key string
	// Partition is the range of times.
	Partition Partition
}

// ErrNotData means that a file is not one of samples, by its name.
var ErrNotData = errors.New("the name is not of the form PV:2026_01.pb")

// ErrZip means that samples are in a ZIP file, which is not read.
var ErrZip = errors.New("ZIP files of the Appliance are not read; unzip them first")

// ParseName returns what the path of a file, with / between its parts, says.
func ParseName(name string) (FileName, error) {
	if strings.HasSuffix(name, "_pb.zip") {
		return FileName{}, ErrZip
	}
	ext := path.Ext(name)
	if ext != ".pb" && ext != ".pbr" {
		return FileName{}, ErrNotData
	}
	at := strings.LastIndexByte(name, ':')
	if at <= 0 {
		return FileName{}, ErrNotData
	}
	p, err := parsePartition(strings.TrimSuffix(name[at+1:], ext))
	return FileName{Key: name[:at], Partition: p}, err
}

func parsePartition(text string) (p Partition, err error) {
	n := strings.Count(text, "_")
	if n >= len(layouts) {
		return p, ErrNotData
	}
	at, err := time.Parse(layouts[n], text)
	if err != nil {
		return p, ErrNotData
	}
	if y := at.Year(); y < firstYear || y > lastYear {
		return p, fmt.Errorf("the year %d is not between %d and %d", y, firstYear, lastYear)
	}
	end := at.Add(30 * time.Minute) // of the longest partition that begins at a minute
	switch n {
	case 0:
		end = at.AddDate(1, 0, 0)
	case 1:
		end = at.AddDate(0, 1, 0)
	case 2:
		end = at.AddDate(0, 0, 1)
	case 3:
		end = at.Add(time.Hour)
	}
	return Partition{at.UnixNano(), end.UnixNano()}, nil
}

// Key returns the name of a PV in the form that the Appliance uses for files.
func Key(pv string) string { return strings.NewReplacer(":", "/", "-", "/").Replace(pv) }

// Matches reports whether the file is one of a PV.
func (n *FileName) Matches(pv string) bool {
	key := Key(pv)
	return n.Key == key || strings.HasSuffix(n.Key, "/"+key)
}
