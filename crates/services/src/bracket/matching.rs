//! Maximum matching of a graph, by Edmonds' algorithm.

use std::collections::VecDeque;

/// Returns the partner of each vertex in a matching with as many pairs as possible. Takes time in the cube of `count`.
pub(super) fn maximum_matching(count: usize, is_edge: impl Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let neighbours: Vec<Vec<usize>> = (0..count)
        .map(|one| (0..count).filter(|other| one != *other && is_edge(one.min(*other), one.max(*other))).collect())
        .collect();
    let mut matching = Matching { neighbours, partner: vec![None; count] };
    for root in 0..count {
        if matching.partner[root].is_none() {
            matching.augment(root);
        }
    }
    matching.partner
}

struct Matching {
    neighbours: Vec<Vec<usize>>,
    partner: Vec<Option<usize>>,
}

/// Tree of alternating paths from one free vertex.
struct Tree {
    parent: Vec<Option<usize>>,
    /// Base of the blossom that contains a vertex.
    base: Vec<usize>,
    is_outer: Vec<bool>,
    queue: VecDeque<usize>,
}

impl Matching {
    /// Finds a path from a free vertex to another one, and takes its other edges. Without a path, nothing changes.
    fn augment(&mut self, root: usize) {
        let count = self.partner.len();
        let mut tree = Tree {
            parent: vec![None; count],
            base: (0..count).collect(),
            is_outer: vec![false; count],
            queue: VecDeque::from([root]),
        };
        tree.is_outer[root] = true;
        let Some(end) = self.search(&mut tree, root) else { return };
        let mut vertex = Some(end);
        while let Some(inner) = vertex {
            let Some(outer) = tree.parent[inner] else { break };
            vertex = self.partner[outer];
            (self.partner[inner], self.partner[outer]) = (Some(outer), Some(inner));
        }
    }

    /// Grows the tree until it reaches a free vertex, which is returned.
    fn search(&self, tree: &mut Tree, root: usize) -> Option<usize> {
        while let Some(vertex) = tree.queue.pop_front() {
            for &next in &self.neighbours[vertex] {
                if tree.base[vertex] == tree.base[next] || self.partner[vertex] == Some(next) {
                    continue;
                }
                let partner = self.partner[next];
                let closes_cycle = next == root || partner.is_some_and(|partner| tree.parent[partner].is_some());
                if closes_cycle {
                    self.contract(tree, vertex, next);
                } else if tree.parent[next].is_none() {
                    tree.parent[next] = Some(vertex);
                    let Some(partner) = partner else { return Some(next) };
                    tree.is_outer[partner] = true;
                    tree.queue.push_back(partner);
                }
            }
        }
        None
    }

    /// Contracts the odd cycle that an edge between two outer vertices closes.
    fn contract(&self, tree: &mut Tree, one: usize, other: usize) {
        let base = self.common_base(tree, one, other);
        let mut in_blossom = vec![false; tree.base.len()];
        self.mark(tree, &mut in_blossom, (one, base), other);
        self.mark(tree, &mut in_blossom, (other, base), one);
        for vertex in 0..tree.base.len() {
            if in_blossom[tree.base[vertex]] {
                tree.base[vertex] = base;
                if !tree.is_outer[vertex] {
                    tree.is_outer[vertex] = true;
                    tree.queue.push_back(vertex);
                }
            }
        }
    }

    /// Returns the base at which the paths of two outer vertices to the root meet.
    fn common_base(&self, tree: &Tree, one: usize, other: usize) -> usize {
        let mut passed = vec![false; tree.base.len()];
        let mut vertex = one;
        loop {
            vertex = tree.base[vertex];
            passed[vertex] = true;
            match self.partner[vertex].and_then(|partner| tree.parent[partner]) {
                Some(parent) => vertex = parent,
                None => break,
            }
        }
        vertex = other;
        loop {
            vertex = tree.base[vertex];
            if passed[vertex] {
                return vertex;
            }
            match self.partner[vertex].and_then(|partner| tree.parent[partner]) {
                Some(parent) => vertex = parent,
                None => return vertex,
            }
        }
    }

    /// Marks the path from a vertex to the base of the blossom, and directs it to `child`.
    fn mark(&self, tree: &mut Tree, in_blossom: &mut [bool], (from, base): (usize, usize), child: usize) {
        let (mut vertex, mut child) = (from, child);
        while tree.base[vertex] != base {
            let Some(partner) = self.partner[vertex] else { return };
            in_blossom[tree.base[vertex]] = true;
            in_blossom[tree.base[partner]] = true;
            tree.parent[vertex] = Some(child);
            child = partner;
            let Some(parent) = tree.parent[partner] else { return };
            vertex = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the largest number of pairs, by trying all.
    fn largest(edges: &[Vec<bool>], free: u32) -> usize {
        let Some(one) = (0..edges.len()).find(|one| free & (1 << one) != 0) else { return 0 };
        let rest = free & !(1 << one);
        let partners = (0..edges.len()).filter(|other| rest & (1 << other) != 0 && edges[one][*other]);
        let with = partners.map(|other| 1 + largest(edges, rest & !(1 << other))).max().unwrap_or(0);
        with.max(largest(edges, rest))
    }

    proptest! {
        #[test]
        fn a_matching_is_as_large_as_possible(count in 0_usize..10, bits in prop::collection::vec(any::<bool>(), 45)) {
            let mut edges = vec![vec![false; count]; count];
            let pairs = (0..count).flat_map(|one| (0..one).map(move |other| (one, other)));
            for ((one, other), is_edge) in pairs.zip(bits) {
                (edges[one][other], edges[other][one]) = (is_edge, is_edge);
            }
            let partners = maximum_matching(count, |one, other| edges[one][other]);
            for (one, partner) in partners.iter().enumerate() {
                if let Some(other) = partner {
                    prop_assert!(edges[one][*other] && partners[*other] == Some(one));
                }
            }
            let pairs = partners.iter().flatten().count() / 2;
            prop_assert_eq!(pairs, largest(&edges, (1 << count) - 1));
        }
    }
}
