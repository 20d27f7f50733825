package routing

import (
	"cmp"
	"iter"
	"net"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/channellist"
)

// names are the PVs of a channel list.
type names struct {
	data   []byte   // the list
	hashes []uint64 // of its PVs, sorted
}

func decodeNames(data []byte) (*names, error) {
	channels, err := channellist.Decode(data)
	if err != nil {
		return nil, err
	}
	n := &names{data: data, hashes: make([]uint64, len(channels))}
	for i := range channels {
		n.hashes[i] = xxhash.Sum64String(channels[i].PV)
	}
	slices.Sort(n.hashes)
	return n, nil
}

// place is a shard and where it is captured.
type place struct {
	shard int
	// engines that capture it are addressed by URL, the sealer first.
	engines []string
	// waiting are those in which samples wait that are not in the journal, with the time
	// since when, in ns since 1970.
	waiting map[string]int64
	lists   []*names
	// whole says that all lists are read. If not, any PV may be in the shard.
	whole bool
}

// atlas says who captures what, as of one moment.
type atlas struct {
	places []place
	// engines are the URLs of all engines, also of those that no shard names.
	engines []string
	// former are lists that shards had lately, by shard.
	former map[int][]*names
}

// has reports whether a PV with a hash is among the names.
func (n *names) has(hash uint64) bool {
	_, found := slices.BinarySearch(n.hashes, hash)
	return found
}

// remember adds the lists that shards had. get returns a list that is read.
func (a *atlas) remember(f *former, get func(name string) (*names, bool)) {
	a.former = make(map[int][]*names, len(f.had))
	for shard, lists := range f.had {
		for name := range lists {
			if n, ok := get(name); ok {
				a.former[shard] = append(a.former[shard], n)
			}
		}
	}
}

// find returns the shards that a PV is captured in, or may be. Certain says that
// a list has the PV.
func (a *atlas) find(pv string) (in []*place, certain bool) {
	hash := xxhash.Sum64String(pv)
	for i := range a.places {
		p := &a.places[i]
		listed := slices.ContainsFunc(p.lists, func(n *names) bool { return n.has(hash) })
		if listed || !p.whole {
			in = append(in, p)
			certain = certain || listed
		}
	}
	return in, certain
}

// waitingOf returns the engines in which samples of some shards wait, and since when.
func (a *atlas) waitingOf(shards []int) map[string]int64 {
	all := map[string]int64{}
	for i := range a.places {
		if !slices.Contains(shards, a.places[i].shard) {
			continue
		}
		for url, since := range a.places[i].waiting {
			if earlier, known := all[url]; !known || since < earlier {
				all[url] = since
			}
		}
	}
	return all
}

// sealer returns the engine whose view of a PV counts; empty: none is known.
func (a *atlas) sealer(pv string) string {
	in, _ := a.find(pv)
	for _, p := range in {
		if len(p.engines) > 0 {
			return p.engines[0]
		}
	}
	return ""
}

// all yields the PVs of all lists.
func (a *atlas) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range a.places {
			for _, n := range a.places[i].lists {
				channels, err := channellist.Decode(n.data)
				if err != nil {
					panic("BUG: a list that was decoded can not be any more: " + err.Error())
				}
				for j := range channels {
					if !yield(channels[j].PV) {
						return
					}
				}
			}
		}
	}
}

// draw makes an atlas. get returns a list that is read.
func draw(shards map[string]*v1alpha1.ArchiveShard, addresses map[string]string, get func(name string) (*names, bool)) *atlas {
	a := &atlas{}
	for _, obj := range shards {
		if obj.Spec.Index == nil {
			continue
		}
		p := place{shard: int(*obj.Spec.Index), whole: true, engines: holders(obj, addresses), waiting: waiting(obj, addresses)}
		for _, ref := range obj.Spec.Lists {
			n, ok := get(ref.Name)
			if ok {
				p.lists = append(p.lists, n)
			}
			p.whole = p.whole && ok
		}
		a.places = append(a.places, p)
	}
	slices.SortFunc(a.places, func(x, y place) int { return cmp.Compare(x.shard, y.shard) })
	for _, url := range addresses {
		a.engines = append(a.engines, url)
	}
	slices.Sort(a.engines)
	return a
}

// holders returns the addresses of the engines that hold samples of a shard in
// memory, the sealer first.
func holders(obj *v1alpha1.ArchiveShard, addresses map[string]string) (urls []string) {
	if obj.Status == nil {
		return nil
	}
	for _, e := range obj.Status.Engines {
		url, known := addresses[e.Name]
		switch {
		case !known || e.Phase == v1alpha1.Drained:
		case e.Name == obj.Status.Sealer:
			urls = slices.Insert(urls, 0, url)
		default:
			urls = append(urls, url)
		}
	}
	return urls
}

// waiting returns the addresses of the engines in which samples of a shard wait that the
// store did not take, and since when.
func waiting(obj *v1alpha1.ArchiveShard, addresses map[string]string) map[string]int64 {
	since := map[string]int64{}
	if obj.Status == nil {
		return since
	}
	for _, e := range obj.Status.Engines {
		if url, known := addresses[e.Name]; known && e.WaitingSince != nil {
			since[url] = e.WaitingSince.UnixNano()
		}
	}
	return since
}

// addressesOf returns the URLs of pods that run, by name. Those of a lost node are left
// out: each question would wait in vain.
func addressesOf(pods map[string]*corev1.Pod, port int) map[string]string {
	urls := map[string]string{}
	for name, pod := range pods {
		if ip := pod.Status.PodIP; ip != "" && pod.Status.Phase == corev1.PodRunning && !isLost(pod) {
			urls[name] = "http://" + net.JoinHostPort(ip, strconv.Itoa(port))
		}
	}
	return urls
}

// isLost reports whether the node of a pod does not answer: Kubernetes says then that the
// pod is not ready, and of its containers what the node said last.
func isLost(pod *corev1.Pod) bool {
	ready, containers := corev1.ConditionTrue, corev1.ConditionFalse
	for _, c := range pod.Status.Conditions {
		switch c.Type {
		case corev1.PodReady:
			ready = c.Status
		case corev1.ContainersReady:
			containers = c.Status
		}
	}
	return ready != corev1.ConditionTrue && containers == corev1.ConditionTrue
}
