package confidence

// Clustering is the rule by which items that mean the same are grouped.
type Clustering int

const (
	// ClusterUnionFind takes the connected components of the relation; the
	// groups do not depend on the order of the items.
	ClusterUnionFind Clustering = iota
	// ClusterFirstHead puts an item into the first group whose first member
	// ("head") it matches, else into a new one (lm-polygraph).
	ClusterFirstHead
	// ClusterLastHead lets every head take all later items that match it, even
	// from an earlier head (published code of Kuhn et al. 2023 and Farquhar et
	// al. 2024).
	ClusterLastHead
	// ClusterEveryHead puts an item into every group whose head it matches
	// (UQLM); the groups overlap.
	ClusterEveryHead
)

// Cluster groups the items 0 … n-1 by the relation same, which is asked for
// i < j only. Groups are in the order of their first member, members in
// ascending order; none is empty. Except under ClusterEveryHead, every item is
// in exactly one group.
func Cluster(rule Clustering, n int, same func(i, j int) bool) [][]int {
	switch rule {
	case ClusterFirstHead:
		return clusterByHeads(n, same, false)
	case ClusterEveryHead:
		return clusterByHeads(n, same, true)
	case ClusterLastHead:
		return clusterByLastHead(n, same)
	default:
		return components(n, same)
	}
}

func clusterByHeads(n int, same func(i, j int) bool, every bool) [][]int {
	var groups [][]int
	for i := range n {
		var joined bool
		for g, group := range groups {
			if same(group[0], i) {
				groups[g] = append(group, i)
				joined = true
				if !every {
					break
				}
			}
		}
		if !joined {
			groups = append(groups, []int{i})
		}
	}
	return groups
}

func clusterByLastHead(n int, same func(i, j int) bool) [][]int {
	head := make([]int, n)
	for i := range head {
		head[i] = -1
	}
	for i := range n {
		if head[i] >= 0 {
			continue
		}
		head[i] = i
		for j := i + 1; j < n; j++ {
			if same(i, j) {
				head[j] = i
			}
		}
	}
	return groupBy(head)
}

// components finds the connected components by union-find.
func components(n int, same func(i, j int) bool) [][]int {
	parent := make([]int, n)
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for j := range n {
		for i := range j {
			if a, b := root(i), root(j); a != b && same(i, j) {
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	label := make([]int, n)
	for i := range label {
		label[i] = root(i)
	}
	return groupBy(label)
}

// groupBy collects the items of each label.
func groupBy(label []int) [][]int {
	var groups [][]int
	at := make(map[int]int)
	for i, l := range label {
		g, ok := at[l]
		if !ok {
			g = len(groups)
			at[l] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}
