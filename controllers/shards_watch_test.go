package controllers_test

import (
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/channellist"
)

// witness watches every version of every shard in the order of the writes. It records the PVs
// that were captured at the start of the watch, but later were missing in a status: according to
// the status of the shards, no engine captured them at that time.
type witness struct {
	ctx     SpecContext
	fixture *shardsFixture
	end     func()
	done    sync.WaitGroup

	shards  map[string]*v1alpha1.ArchiveShard
	lists   map[string][]string
	pvs     []string
	missing []string
	events  int
}

// watch starts a witness.
func (p *shardsFixture) watch(ctx SpecContext) *witness {
	GinkgoHelper()
	w := &witness{ctx: ctx, fixture: p, shards: map[string]*v1alpha1.ArchiveShard{}, lists: map[string][]string{}}
	c, err := client.NewWithWatch(restConfig, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	var all v1alpha1.ArchiveShardList
	Expect(c.List(ctx, &all, client.InNamespace(p.namespace))).To(Succeed())
	for i := range all.Items {
		w.shards[all.Items[i].Name] = &all.Items[i]
	}
	w.pvs = w.captured()
	Expect(w.pvs).NotTo(BeEmpty())
	watch, err := c.Watch(ctx, &v1alpha1.ArchiveShardList{}, client.InNamespace(p.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: all.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	w.end = watch.Stop
	w.done.Go(func() {
		defer GinkgoRecover()
		for e := range watch.ResultChan() {
			s, is := e.Object.(*v1alpha1.ArchiveShard)
			if !is {
				continue
			}
			w.shards[s.Name], w.events = s, w.events+1
			now := w.captured()
			for _, pv := range w.pvs {
				if _, captured := slices.BinarySearch(now, pv); !captured {
					w.missing = append(w.missing, pv+" after a write of "+s.Name)
				}
			}
		}
	})
	return w
}

// stop ends the watch and returns the recorded PVs.
func (w *witness) stop() []string {
	w.end()
	w.done.Wait()
	return w.missing
}

// captured returns the PVs that some engine captures according to the status of the shards,
// sorted.
func (w *witness) captured() (pvs []string) {
	for _, s := range w.shards {
		if s.Status == nil {
			continue
		}
		for _, e := range s.Status.Engines {
			if e.Phase == v1alpha1.Capturing || e.Phase == v1alpha1.Draining {
				for _, name := range e.Lists {
					pvs = append(pvs, w.list(name)...)
				}
			}
		}
	}
	slices.Sort(pvs)
	return slices.Compact(pvs)
}

// list returns the PVs of a channel list.
func (w *witness) list(name string) []string {
	if pvs, known := w.lists[name]; known {
		return pvs
	}
	cm := &corev1.ConfigMap{}
	Expect(k8s.Get(w.ctx, key(w.fixture.namespace, name), cm)).To(Succeed())
	channels, err := channellist.Decode(cm.BinaryData[v1alpha1.ChannelListKey])
	Expect(err).NotTo(HaveOccurred())
	pvs := []string{}
	for _, ch := range channels {
		pvs = append(pvs, ch.PV)
	}
	w.lists[name] = pvs
	return pvs
}
