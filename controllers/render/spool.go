package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// spoolDir is where samples wait that neither Cassandra nor memory has room for.
const spoolDir = "/var/spool/varve"

// defaultSpoolSize is that of the API, for objects that did not pass it.
var defaultSpoolSize = resource.MustParse("2Gi")

// spool returns the flags and the volume of the spool; none without one. An
// embedded store has none: it would be on the same disk.
//
// The volume survives the container, not the pod. Its limit is above what the
// engine keeps to, for kubelet would evict the engine at once.
func spool(a *v1alpha1.Archiver) (flags []string, volumes []volume) {
	size := defaultSpoolSize
	if s := a.Spec.Engines.SpoolSize; s != nil {
		size = *s
	}
	if Embedded(a) || size.IsZero() {
		return nil, nil
	}
	limit := resource.NewQuantity(size.Value()+size.Value()/8, resource.BinarySI)
	return []string{"--spool=" + spoolDir, fmt.Sprintf("--spool-size=%d", size.Value())}, []volume{{
		VolumeApplyConfiguration: core.Volume().WithName("spool").WithEmptyDir(core.EmptyDirVolumeSource().WithSizeLimit(*limit)),
		path:                     spoolDir,
	}}
}
