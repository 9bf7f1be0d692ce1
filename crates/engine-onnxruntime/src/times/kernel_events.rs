//! The kernels that the events of a profile belong to.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};

use opscope_model::KernelId;

use super::event::{Event, read_events};
use crate::attribution::Node;

/// The names of a plan's kernels in a profile.
pub(crate) struct KernelEvents {
    kernels: usize,
    /// The kernels with each name, in order of execution: the library gives several nodes the same name.
    groups: Vec<Group>,
    by_name: HashMap<String, usize>,
    /// The groups of nodes without a name, by type.
    by_type: HashMap<String, usize>,
    /// Whether each kernel runs bodies, whose nodes have their own events.
    has_bodies: Vec<bool>,
}

#[derive(Default)]
struct Group {
    kernels: Vec<KernelId>,
    /// Whether a node in a body also has this name.
    is_ambiguous: bool,
}

/// What a profile says about a run. All times are microseconds since the library began to profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RunEvents {
    /// When the library ran the model; `None` if the profile does not say.
    pub run: Option<(u64, u64)>,
    /// When the kernels were executed, in the order of their ends.
    pub kernels: Vec<KernelTime>,
}

/// When a kernel was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelTime {
    pub kernel: KernelId,
    pub start: u64,
    pub end: u64,
}

impl KernelEvents {
    /// `inner_names` are those of nodes in bodies.
    pub fn new(nodes: &[Node], inner_names: &HashSet<String>) -> Self {
        let has_bodies = |node: &Node| matches!(node.op_type.as_str(), "If" | "Loop" | "Scan");
        let mut events = Self {
            kernels: nodes.len(),
            groups: Vec::new(),
            by_name: HashMap::new(),
            by_type: HashMap::new(),
            has_bodies: nodes.iter().map(has_bodies).collect(),
        };
        for (index, node) in nodes.iter().enumerate() {
            let (map, key) = match node.name.is_empty() {
                true => (&mut events.by_type, &node.op_type),
                false => (&mut events.by_name, &node.name),
            };
            let groups = &mut events.groups;
            let group = *map.entry(key.clone()).or_insert_with(|| {
                groups.push(Group::default());
                groups.len() - 1
            });
            groups[group].kernels.push(KernelId::new(index as u32));
            groups[group].is_ambiguous = node.name.is_empty() || inner_names.contains(&node.name);
        }
        events
    }

    /// Reads the profile of one run.
    pub fn read(&self, from: impl BufRead) -> io::Result<RunEvents> {
        let mut reading = Reading { names: self, met: vec![0; self.groups.len()], accepted: Vec::new(), run: None };
        reading.accepted.reserve(self.kernels);
        read_events(from, |event| reading.event(event))?;
        let kernels = reading.accepted.into_iter().map(|accepted| accepted.time);
        Ok(RunEvents { run: reading.run, kernels: kernels.collect() })
    }

    /// Returns the group of a node's event. The library calls a node without a name `Type_12`.
    fn group(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().or_else(|| {
            let (op_type, number) = name.rsplit_once('_')?;
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            self.by_type.get(op_type).copied().filter(|_| is_number)
        })
    }
}

struct Reading<'a> {
    names: &'a KernelEvents,
    /// How many kernels of each group were met.
    met: Vec<usize>,
    accepted: Vec<Accepted>,
    run: Option<(u64, u64)>,
}

struct Accepted {
    time: KernelTime,
    group: usize,
}

impl Reading<'_> {
    fn event(&mut self, event: Event<'_>) {
        let (start, end) = (event.start, event.start.saturating_add(event.duration));
        if !event.is_node {
            let is_executor = matches!(event.name, "SequentialExecutor::Execute" | "ParallelExecutor::Execute");
            if event.name == "model_run" || is_executor && self.run.is_none() {
                self.run = Some((start, end));
            }
            return;
        }
        let Some(group) = event.name.strip_suffix("_kernel_time").and_then(|name| self.names.group(name)) else {
            return;
        };
        let Some(&kernel) = self.names.groups[group].kernels.get(self.met[group]) else { return };
        self.met[group] += 1;
        if self.names.has_bodies[kernel.index()] {
            self.drop_inner(start);
        }
        self.accepted.push(Accepted { time: KernelTime { kernel, start, end }, group });
    }

    /// Drops the events since `start` that were attributed to kernels but belong to nodes in a body. An event is
    /// written when its node ends, so those of a body come before that of its operator.
    fn drop_inner(&mut self, start: u64) {
        let Self { names, met, accepted, .. } = self;
        accepted.retain(|accepted| {
            let is_inner = names.groups[accepted.group].is_ambiguous && accepted.time.start >= start;
            met[accepted.group] -= usize::from(is_inner);
            !is_inner
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn names(nodes: &[(&str, &str)], inner: &[&str]) -> KernelEvents {
        let node = |(name, op_type): &(&str, &str)| Node {
            name: (*name).to_owned(),
            op_type: (*op_type).to_owned(),
            ..Node::default()
        };
        let inner = inner.iter().map(|name| (*name).to_owned()).collect();
        KernelEvents::new(&nodes.iter().map(node).collect::<Vec<_>>(), &inner)
    }

    fn profile(events: &[(&str, &str, u64, u64)]) -> String {
        let mut text = "[\n".to_owned();
        for (category, name, start, duration) in events {
            let _ = writeln!(
                text,
                r#"{{"cat" : "{category}","pid" :1,"tid" :1,"dur" :{duration},"ts" :{start},"ph" : "X","name" :"{name}","args" : {{}}}},"#
            );
        }
        text + "]\n"
    }

    /// When the library ran the model, and the index, the start and the end of each kernel.
    type Read = (Option<(u64, u64)>, Vec<(usize, u64, u64)>);

    fn read(names: &KernelEvents, events: &[(&str, &str, u64, u64)]) -> Read {
        let found = names.read(profile(events).as_bytes()).expect("memory");
        let times = found.kernels.iter().map(|time| (time.kernel.index(), time.start, time.end));
        (found.run, times.collect())
    }

    #[test]
    fn nodes_of_one_name_or_none_are_told_apart_by_their_order() {
        let names = names(&[("Gelu", "Gelu"), ("", "Exp"), ("Gelu", "Gelu"), ("", "Exp")], &[]);
        let events = [
            ("Node", "Gelu_kernel_time", 10, 1),
            ("Node", "Exp_7_kernel_time", 11, 2),
            ("Node", "Gelu_kernel_time", 13, 3),
            ("Node", "Exp_9_kernel_time", 16, 4),
            ("Node", "Gelu_kernel_time", 20, 1),
            ("Session", "SequentialExecutor::Execute", 9, 12),
            ("Session", "model_run", 8, 14),
        ];
        let (run, times) = read(&names, &events);
        assert_eq!(times, [(0, 10, 11), (1, 11, 13), (2, 13, 16), (3, 16, 20)], "there are two nodes of the name");
        assert_eq!(run, Some((8, 22)));
    }

    #[test]
    fn events_of_bodies_are_part_of_their_operators_also_where_they_are_called_like_kernels() {
        let names = names(&[("a", "Relu"), ("loop", "Loop"), ("Gelu", "Gelu")], &["inner", "Gelu"]);
        let events = [
            ("Node", "a_kernel_time", 10, 0),
            ("Node", "inner_kernel_time", 11, 1),
            ("Node", "Gelu_kernel_time", 12, 1),
            ("Node", "Gelu_kernel_time", 14, 1),
            ("Node", "loop_kernel_time", 10, 8),
            ("Node", "Gelu_kernel_time", 20, 5),
        ];
        assert_eq!(read(&names, &events), (None, vec![(0, 10, 10), (1, 10, 18), (2, 20, 25)]));
    }

    #[test]
    fn what_a_profile_lacks_is_not_made_up() {
        let names = names(&[("a", "Relu"), ("b", "Relu")], &[]);
        let events = [("Node", "b_kernel_time", 3, 1), ("Node", "a", 1, 1), ("Node", "c_kernel_time", 1, 1)];
        assert_eq!(read(&names, &events).1, [(1, 3, 4)]);
    }

    #[test]
    fn the_events_of_a_million_iterations_are_read_without_keeping_them() {
        let names = names(&[("loop", "Loop"), ("", "Add"), ("last", "Relu")], &["", "last"]);
        let inner = profile(&[("Node", "Add_3_kernel_time", 5, 1), ("Node", "last_kernel_time", 6, 1)]);
        let inner = inner.trim_start_matches("[\n").trim_end_matches("]\n").repeat(100_000);
        let rest = profile(&[
            ("Node", "loop_kernel_time", 4, 1_000),
            ("Node", "Add_9_kernel_time", 1_005, 1),
            ("Node", "last_kernel_time", 1_006, 1),
        ]);
        let found = names.read([inner.as_bytes(), rest.as_bytes()].concat().as_slice()).expect("memory");
        let times: Vec<_> = found.kernels.iter().map(|time| (time.kernel.index(), time.start)).collect();
        assert_eq!(times, [(0, 4), (1, 1_005), (2, 1_006)]);
        assert!(found.kernels.capacity() <= 16, "{}", found.kernels.capacity());
    }
}
