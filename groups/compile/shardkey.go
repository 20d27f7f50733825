package compile

import (
	"fmt"
	"regexp"

	"varve.dev/varve/api/v1alpha1"
)

// keyFunc returns the shard key of a PV.
type keyFunc func(pv string) string

func itself(pv string) string { return pv }

// shardKey returns how a group selects shards. If it returns an error, the function is the
// default: the key is the PV itself.
func shardKey(by *v1alpha1.ShardBy, group string) (keyFunc, error) {
	switch {
	case by == nil || by.Channel != nil:
		return itself, nil
	case by.Group != nil:
		return func(string) string { return group }, nil
	case by.Prefix != nil:
		re, _, err := compileBounded(by.Prefix.Regex)
		if err != nil {
			return itself, fmt.Errorf("parsing shardBy.prefix.regex: %w", err)
		}
		return prefixKey(re), nil
	}
	return itself, nil
}

// prefixKey uses the first capture group as key, or the whole match if there is none. An empty
// key counts as no match, because it would put unrelated PVs into one shard.
func prefixKey(re *regexp.Regexp) keyFunc {
	part := min(re.NumSubexp(), 1)
	return func(pv string) string {
		if m := re.FindStringSubmatch(pv); m != nil && m[part] != "" {
			return m[part]
		}
		return pv
	}
}
