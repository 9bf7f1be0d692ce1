//! Names of nodes and values.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::proto::NodeProto;

/// The largest part of an operator's name, in bytes, that prefixes the names inside it. Without a limit, a small file
/// with one long name around many nodes would need a lot of memory.
const MOST_OF_OWNER: usize = 512;

/// Gives each item of one kind, in the main graph and in all bodies, a unique name. A name that is taken gets the
/// suffix `_2`, `_3`, ...
#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// The number of copies of each name, so that the search for the next suffix starts there.
    copies: HashMap<String, usize>,
}

impl UniqueNames {
    /// Returns a name for every node of a graph inside `owner`: the node's own name, or `OpType_position` if it has
    /// none.
    pub(crate) fn of_nodes(&mut self, owner: Option<&str>, nodes: &[NodeProto]) -> Vec<String> {
        let is_named = |node: &&NodeProto| !node.name.is_empty();
        let own: HashSet<Cow<str>> = nodes.iter().filter(is_named).map(|node| inside(owner, &node.name)).collect();
        let name = |(position, node): (usize, &NodeProto)| match node.name.as_str() {
            "" => self.next(&inside(owner, &format!("{}_{position}", node.op_type)), false, &own),
            name => self.next(&inside(owner, name), true, &own),
        };
        nodes.iter().enumerate().map(name).collect()
    }

    /// Returns a name for a value of a graph inside `owner`.
    pub(crate) fn of_value(&mut self, owner: Option<&str>, name: &str) -> String {
        self.next(&inside(owner, name), true, &HashSet::new())
    }

    /// Returns `base`, or its next copy that is free. Names in the file take precedence over generated ones.
    fn next(&mut self, base: &str, is_own: bool, own: &HashSet<Cow<str>>) -> String {
        let mut name = base.to_owned();
        let mut may_be_own = is_own;
        while self.taken.contains(&name) || (!may_be_own && own.contains(name.as_str())) {
            let copy = self.copies.entry(base.to_owned()).or_insert(1);
            *copy += 1;
            name = format!("{base}_{copy}");
            may_be_own = false;
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Returns the name of something inside an operator: `OWNER/NAME`.
fn inside<'a>(owner: Option<&str>, name: &'a str) -> Cow<'a, str> {
    let Some(owner) = owner else { return Cow::Borrowed(name) };
    let owner = &owner[..owner.floor_char_boundary(MOST_OF_OWNER)];
    let slash = if name.starts_with('/') { "" } else { "/" };
    Cow::Owned(format!("{owner}{slash}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> NodeProto {
        NodeProto { name: name.to_owned(), op_type: "Add".to_owned(), ..NodeProto::default() }
    }

    #[test]
    fn nodes_of_one_name_are_numbered_around_names_that_others_have() {
        let mut nodes = vec![named("same"); 4];
        nodes.push(named("same_3"));
        let names = UniqueNames::default().of_nodes(None, &nodes);
        assert_eq!(names, ["same", "same_2", "same_4", "same_5", "same_3"]);
    }

    #[test]
    fn nodes_of_bodies_are_named_after_their_owner_around_names_that_others_have() {
        let mut names = UniqueNames::default();
        assert_eq!(names.of_nodes(None, &[named("If"), named("If/Add_0")]), ["If", "If/Add_0"]);
        let body = [named(""), named("/encoder/x"), named("x"), named("Add_0_2")];
        assert_eq!(names.of_nodes(Some("If"), &body), ["If/Add_0_3", "If/encoder/x", "If/x", "If/Add_0_2"]);
        assert_eq!(names.of_nodes(Some("If"), &body[..3]), ["If/Add_0_4", "If/encoder/x_2", "If/x_2"]);
    }

    /// Searching from the first suffix for every node would take half an hour.
    #[test]
    fn the_time_for_nodes_of_one_name_grows_with_their_number_and_not_its_square() {
        let names = UniqueNames::default().of_nodes(None, &vec![named("same"); 200_000]);
        assert_eq!(names.last().map(String::as_str), Some("same_200000"));
    }

    #[test]
    fn a_long_name_is_not_repeated_in_full_in_each_name_inside() {
        let names = UniqueNames::default().of_nodes(Some(&"ü".repeat(100_000)), &vec![named(""); 3]);
        assert!(names.iter().all(|name| name.len() < 600 && name.contains("ü/Add_")), "{names:?}");
        let of = |length: usize| UniqueNames::default().of_value(Some(&"o".repeat(length)), "x").len();
        assert_eq!([of(511), of(512), of(513), of(9999)], [513, 514, 514, 514]);
    }
}
