package backup

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/varve/engine/store"
)

// restoreShard is the shard of the claim by which a restore marks an archive: see Restore. No archive has so many
// shards. A backup leaves this claim out.
const restoreShard = 1<<31 - 1

// journal copies the claims and the unsealed rows of all shards, also of the shards for PVs that two engines capture.
func (c *creator) journal(ctx context.Context) error {
	rows, claims := c.newPacker(Journal), c.newPacker(Claims)
	for shard := range 2 * c.opts.Shards {
		found, err := c.shard(ctx, rows, shard)
		if err != nil {
			return fmt.Errorf("copying the journal of shard %d: %w", shard, err)
		}
		for i := range found {
			if err := claims.add(ctx, &found[i]); err != nil {
				return err
			}
		}
	}
	if err := rows.close(ctx); err != nil {
		return err
	}
	return claims.close(ctx)
}

// shard copies the unsealed rows of a shard, and returns its claims, with the sealed positions from after that.
func (c *creator) shard(ctx context.Context, p *packer, shard int) ([]store.Claim, error) {
	claims, err := c.claims(ctx, shard)
	if err != nil {
		return nil, err
	}
	for i := range claims {
		what := fmt.Sprintf("reading the journal of writer %v", claims[i].Writer)
		if err := again(ctx, what, func() error { return c.journalOf(ctx, p, &claims[i]) }); err != nil {
			return nil, err
		}
	}
	after, err := c.claims(ctx, shard)
	if err != nil {
		return nil, err
	}
	return atSealed(claims, after), nil
}

// atSealed returns the claims with the sealed positions of later ones. It leaves out claims that are gone by then.
func atSealed(claims, later []store.Claim) (kept []store.Claim) {
	for _, c := range claims {
		i := slices.IndexFunc(later, func(l store.Claim) bool { return l.Writer == c.Writer })
		if i < 0 {
			continue
		}
		c.Sealed = max(c.Sealed, later[i].Sealed)
		kept = append(kept, c)
	}
	return kept
}

func (c *creator) claims(ctx context.Context, shard int) (claims []store.Claim, err error) {
	err = again(ctx, "reading the claims", func() error {
		claims, err = c.store.Claims(ctx, shard)
		return err
	})
	return claims, err
}

func (c *creator) journalOf(ctx context.Context, p *packer, claim *store.Claim) error {
	for row, err := range c.store.Journal(ctx, claim.Shard, claim.Writer, claim.Sealed, claim.Last) {
		if err != nil {
			return err
		}
		if row.Damage != nil {
			c.damaged("shard %d, writer %v, row %d/%d: %v", row.Shard, row.Writer, row.At.N(), row.At.Seq(), row.Damage)
			continue
		}
		if err := p.add(ctx, &row); err != nil {
			return err
		}
	}
	return nil
}

// guardProgress copies how far the disk guard is in each shard.
func (c *creator) guardProgress(ctx context.Context, p *packer) error {
	var all []store.CutoffProgress
	err := again(ctx, "reading the progress of the disk guard", func() (err error) {
		all, err = c.store.CutoffProgress(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for i := range all {
		if err := p.add(ctx, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// cutoff copies the deletion cutoff.
func (c *creator) cutoff(ctx context.Context, p *packer) error {
	var cutoff store.Cutoff
	var found bool
	err := again(ctx, "reading the cutoff of the disk guard", func() (err error) {
		cutoff, found, err = c.store.Cutoff(ctx)
		return err
	})
	if err == nil && found {
		err = p.add(ctx, &cutoff)
	}
	if err != nil {
		return err
	}
	return p.close(ctx)
}
