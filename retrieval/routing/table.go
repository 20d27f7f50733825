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

// pvSet is the set of PVs in a channel list.
type pvSet struct {
	data   []byte   // the encoded list
	hashes []uint64 // hashes of the PVs, sorted
}

func decodePVSet(data []byte) (*pvSet, error) {
	channels, err := channellist.Decode(data)
	if err != nil {
		return nil, err
	}
	n := &pvSet{data: data, hashes: make([]uint64, len(channels))}
	for i := range channels {
		n.hashes[i] = xxhash.Sum64String(channels[i].PV)
	}
	slices.Sort(n.hashes)
	return n, nil
}

// route is a shard and the engines that capture it.
type route struct {
	shard int
	// engines are the URLs of the engines that capture the shard, the sealer first.
	engines []string
	// unknown means that an engine may capture the shard whose URL is not known: its pod is new or lost.
	unknown bool
	// unstored maps the URLs of the engines that hold samples which are not in the journal
	// to the start of that state, in ns since 1970.
	unstored map[string]int64
	lists    []*pvSet
	// former are the lists that the shard captured until recently. anyFormer means that one of them has
	// not been read: any PV may be in it.
	former    []*pvSet
	anyFormer bool
	// complete means that all lists have been read. Otherwise any PV may be in the shard.
	complete bool
}

// table maps PVs to the engines that capture them, as of one moment. It never changes.
type table struct {
	routes []route
	// engines are the URLs of all engines, also of engines that no shard names.
	engines []string
	// names are the names of these engines, by URL.
	names map[string]string
	// former holds the lists that shards recently had, by shard.
	former map[int][]*pvSet
	// version is another one after each change of the lists that shards capture.
	version uint64
}

// has reports whether the set contains a PV with this hash.
func (n *pvSet) has(hash uint64) bool {
	_, found := slices.BinarySearch(n.hashes, hash)
	return found
}

// addFormer adds the former lists of shards. get returns a list if it has been read.
func (t *table) addFormer(f *former, get func(name string) (*pvSet, bool)) {
	t.former = make(map[int][]*pvSet, len(f.had))
	for shard, lists := range f.had {
		for name := range lists {
			if n, ok := get(name); ok {
				t.former[shard] = append(t.former[shard], n)
			}
		}
	}
}

// find returns the shards that capture a PV or may capture it. certain means that a list
// contains the PV.
func (t *table) find(pv string) (in []*route, certain bool) {
	hash := xxhash.Sum64String(pv)
	for i := range t.routes {
		p := &t.routes[i]
		listed := slices.ContainsFunc(p.lists, func(n *pvSet) bool { return n.has(hash) })
		if listed || !p.complete {
			in = append(in, p)
			certain = certain || listed
		}
	}
	return in, certain
}

// route returns the route of a shard. It has no engines if there is no such shard.
func (t *table) route(shard int) *route {
	for i := range t.routes {
		if t.routes[i].shard == shard {
			return &t.routes[i]
		}
	}
	return &route{shard: shard}
}

// unstored returns the engines that hold unstored samples of any of the shards, each with the
// time since which it holds them.
func (t *table) unstored(shards []int) map[string]int64 {
	all := map[string]int64{}
	for i := range t.routes {
		if !slices.Contains(shards, t.routes[i].shard) {
			continue
		}
		for url, since := range t.routes[i].unstored {
			if earlier, known := all[url]; !known || since < earlier {
				all[url] = since
			}
		}
	}
	return all
}

// sealer returns the engine whose state of a PV counts, or "" if none is known.
func (t *table) sealer(pv string) string {
	in, _ := t.find(pv)
	for _, p := range in {
		if len(p.engines) > 0 {
			return p.engines[0]
		}
	}
	return ""
}

// all yields the PVs of all lists.
func (t *table) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range t.routes {
			for _, n := range t.routes[i].lists {
				channels, err := channellist.Decode(n.data)
				if err != nil {
					panic("BUG: decoding a list a second time failed: " + err.Error())
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

// countFrom sets the version of the table that follows another one.
func (t *table) countFrom(last *table) {
	lists := func(t *table) (all []*pvSet) {
		for i := range t.routes {
			all = append(all, t.routes[i].lists...)
		}
		return all
	}
	if t.version = last.version; !slices.Equal(lists(t), lists(last)) { // a list never changes
		t.version++
	}
}

// buildTable builds a table. get returns a list if it has been read.
func buildTable(shards map[string]*v1alpha1.ArchiveShard, addresses map[string]string, get func(name string) (*pvSet, bool)) *table {
	t := &table{names: map[string]string{}}
	for _, obj := range shards {
		if obj.Spec.Index == nil {
			continue
		}
		p := route{shard: int(*obj.Spec.Index), complete: true, engines: capturingEngines(obj, addresses), unstored: enginesWithUnstored(obj, addresses)}
		p.unknown = hasUnknownEngine(obj, addresses)
		for _, ref := range obj.Spec.Lists {
			n, ok := get(ref.Name)
			if ok {
				p.lists = append(p.lists, n)
			}
			p.complete = p.complete && ok
		}
		for _, f := range obj.Spec.Former {
			n, ok := get(f.Name)
			if ok {
				p.former = append(p.former, n)
			}
			p.anyFormer = p.anyFormer || !ok
		}
		t.routes = append(t.routes, p)
	}
	slices.SortFunc(t.routes, func(x, y route) int { return cmp.Compare(x.shard, y.shard) })
	for name, url := range addresses {
		t.engines = append(t.engines, url)
		t.names[url] = name
	}
	slices.Sort(t.engines)
	return t
}

// capturingEngines returns the addresses of the engines that hold samples of a shard in
// memory, the sealer first.
func capturingEngines(obj *v1alpha1.ArchiveShard, addresses map[string]string) (urls []string) {
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

// hasUnknownEngine reports whether an engine without an address captures a shard, or has the order to capture it.
func hasUnknownEngine(obj *v1alpha1.ArchiveShard, addresses map[string]string) bool {
	unknown := func(name string) bool { return addresses[name] == "" }
	return slices.ContainsFunc(obj.Spec.Engines, func(e v1alpha1.ShardEngine) bool { return e.Order == v1alpha1.OrderCapture && unknown(e.Name) }) ||
		obj.Status != nil && slices.ContainsFunc(obj.Status.Engines, func(e v1alpha1.ShardEngineStatus) bool { return e.Phase != v1alpha1.Drained && unknown(e.Name) })
}

// enginesWithUnstored returns the URLs of the engines that hold samples of a shard which the
// store has not accepted, each with the time since which it holds them.
func enginesWithUnstored(obj *v1alpha1.ArchiveShard, addresses map[string]string) map[string]int64 {
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

// addressesOf returns the URLs of running pods, by name. It omits pods of a lost node:
// every query to them would time out.
func addressesOf(pods map[string]*corev1.Pod, port int) map[string]string {
	urls := map[string]string{}
	for name, pod := range pods {
		if ip := pod.Status.PodIP; ip != "" && pod.Status.Phase == corev1.PodRunning && !isLost(pod) {
			urls[name] = "http://" + net.JoinHostPort(ip, strconv.Itoa(port))
		}
	}
	return urls
}

// isLost reports whether the node of a pod does not respond. Kubernetes then marks the pod
// as not ready, but keeps the last ContainersReady condition that the node reported.
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
