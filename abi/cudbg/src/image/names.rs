//! The names of symbols: the names in the file, in a form that debuggers can parse.

use std::collections::HashSet;

use crate::graph::Graph;

/// How many bytes of a name are kept. The rest is cut off.
const MOST: usize = 512;

/// The symbols of a model. No two are the same.
#[derive(Debug)]
pub struct Names {
    /// The symbols of the operators by index.
    pub operators: Vec<String>,
    /// The symbols of the values by index.
    pub values: Vec<String>,
}

impl Names {
    /// Returns symbols for the operators and values of a graph. A name of the file is kept unchanged if every debugger
    /// can parse it.
    pub fn new(graph: &Graph) -> Self {
        let mut taken = HashSet::new();
        let operators = graph.operators.iter().enumerate();
        let operators =
            operators.map(|(index, operator)| unique(&mut taken, &operator.name, "operator", index)).collect();
        let values = graph.values.iter().enumerate();
        let values = values.map(|(index, value)| unique(&mut taken, &value.name, "value", index)).collect();
        Self { operators, values }
    }

    /// Returns the operator with this symbol.
    pub fn operator(&self, symbol: &str) -> Option<u32> {
        self.operators.iter().position(|name| name == symbol).map(|index| index as u32)
    }
}

/// Returns a symbol for a name. It differs from all that are taken.
fn unique(taken: &mut HashSet<String>, name: &str, kind: &str, index: usize) -> String {
    let plain = plain(name);
    // A name must not begin with a digit, because a debugger takes a number for a line.
    let named = match plain.starts_with(|first: char| first.is_ascii_alphabetic() || "_/".contains(first)) {
        true => plain,
        false if plain.is_empty() => format!("{kind}_{index}"),
        false => format!("_{plain}"),
    };
    let mut symbol = named.clone();
    let mut attempt = index;
    while !taken.insert(symbol.clone()) {
        symbol = format!("{named}.{attempt}");
        attempt += 1;
    }
    symbol
}

/// Replaces characters that the parsers of debuggers cannot read in a name, such as spaces, colons, brackets, quotes,
/// and all that are not ASCII.
fn plain(name: &str) -> String {
    let allowed = |sign: char| sign.is_ascii_alphanumeric() || "_./$".contains(sign);
    name.chars().map(|sign| if allowed(sign) { sign } else { '_' }).take(MOST).collect()
}
