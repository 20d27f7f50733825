package nameindex

import (
	"context"
	"iter"
)

// View is the names at one moment. It never changes.
type View struct{ all *list }

// Len returns the number of names.
func (v *View) Len() int { return v.all.len() }

// Bytes returns the memory of the names in bytes.
func (v *View) Bytes() int { return v.all.bytes() }

func (l *list) bytes() int { return len(l.text) + 4*cap(l.ends) }

// atOnce is how many names are compared before a search checks whether it was cancelled.
const atOnce = 1 << 14

// Search yields the names that a pattern selects and that sees accepts, in order. sees may be nil. A name is a part of the
// memory of the view: clone it to keep it. The search ends with the error of ctx when ctx ends.
func (v *View) Search(ctx context.Context, p Pattern, sees func(name string) bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, in := range p.spans(v.all) {
			for ; in.from < in.to; in.from += atOnce {
				if err := ctx.Err(); err != nil {
					yield("", err)
					return
				}
				if !v.all.search(&p, span{in.from, min(in.to, in.from+atOnce)}, sees, func(name string) bool { return yield(name, nil) }) {
					return
				}
			}
		}
	}
}
