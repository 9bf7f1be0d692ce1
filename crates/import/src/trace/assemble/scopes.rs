//! The modules, ranges and operators of a program, as a tree: where something was done.

use std::collections::BTreeSet;

use foldhash::HashMap;
use opscope_onnx::{CodeOrigin, Module};

use super::names::{NameNumber, Names};

/// A place in the program; 0 is outside of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Scope(pub u32);

/// What a scope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ScopeOf {
    Module,
    Operator,
}

/// The tree of scopes.
#[derive(Default)]
pub(super) struct Scopes {
    numbers: HashMap<(Scope, ScopeOf, NameNumber), Scope>,
    nodes: Vec<Node>,
}

struct Node {
    around: Scope,
    of: ScopeOf,
    name: NameNumber,
    /// Its depth among operators: 1 for one that is in no other.
    depth: u32,
}

/// The most scopes. A program with more has names that differ from call to call; what is deeper counts for the scope
/// around it.
const MOST: usize = 1 << 21;
/// The deepest path of a dispatch. A deeper operator counts for the one around it.
const DEEPEST: u32 = 60;

impl Scopes {
    /// Returns the scope with this name in another one.
    pub fn within(&mut self, around: Scope, of: ScopeOf, name: NameNumber) -> Scope {
        let key = (around, of, name);
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let depth = self.depth(around) + u32::from(of == ScopeOf::Operator);
        if self.nodes.len() >= MOST || depth > DEEPEST {
            return around;
        }
        self.nodes.push(Node { around, of, name, depth });
        let new = Scope(self.nodes.len() as u32);
        self.numbers.insert(key, new);
        new
    }

    fn node(&self, scope: Scope) -> Option<&Node> {
        self.nodes.get((scope.0 as usize).checked_sub(1)?)
    }

    fn depth(&self, scope: Scope) -> u32 {
        self.node(scope).map_or(0, |node| node.depth)
    }

    /// Returns the scope and those around it, the innermost first.
    fn outwards(&self, scope: Scope) -> impl Iterator<Item = (Scope, &Node)> {
        let mut at = scope;
        std::iter::from_fn(move || {
            let node = self.node(at)?;
            let here = (at, node);
            at = node.around;
            Some(here)
        })
    }

    /// Returns the innermost operator that the scope is or is in.
    pub fn operator(&self, scope: Scope) -> Option<Scope> {
        self.outwards(scope).find(|(_, node)| node.of == ScopeOf::Operator).map(|(scope, _)| scope)
    }

    /// Returns the operators around an operator, outermost first.
    pub fn operators_around(&self, scope: Scope) -> Vec<Scope> {
        let operators = self.outwards(scope).skip(1).filter(|(_, node)| node.of == ScopeOf::Operator);
        let mut around: Vec<Scope> = operators.map(|(scope, _)| scope).collect();
        around.reverse();
        around
    }

    /// Returns the name of an operator: its modules, the operators around it, and its own name, such as
    /// `Net_0.Linear_1/aten::linear/aten::addmm`.
    pub fn name(&self, scope: Scope, names: &Names) -> String {
        let mut parts: Vec<(ScopeOf, &str)> =
            self.outwards(scope).map(|(_, node)| (node.of, names.text(node.name))).collect();
        parts.reverse();
        let mut name = String::new();
        for (place, (of, text)) in parts.iter().enumerate() {
            if place > 0 {
                let is_module = *of == ScopeOf::Module && parts[place - 1].0 == ScopeOf::Module;
                name.push(if is_module { '.' } else { '/' });
            }
            name.push_str(text);
        }
        name
    }

    /// Returns the name of its own.
    pub fn own_name<'n>(&self, scope: Scope, names: &'n Names) -> &'n str {
        self.node(scope).map_or("", |node| names.text(node.name))
    }

    /// Returns the modules that an operator is in; `None` if it is in none.
    pub fn origin(&self, scope: Scope, names: &Names) -> Option<CodeOrigin> {
        let mut texts: Vec<&str> = self.modules(scope).map(|node| names.text(node.name)).collect();
        texts.reverse();
        let mut path = String::new();
        let mut modules = Vec::new();
        for text in texts {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(text);
            modules.push(Module { path: path.clone(), class: String::new() });
        }
        let display_name = self.name(scope, names);
        (!modules.is_empty()).then(|| CodeOrigin { display_name, modules, ..CodeOrigin::default() })
    }

    fn modules(&self, scope: Scope) -> impl Iterator<Item = &Node> {
        self.outwards(scope).map(|(_, node)| node).filter(|node| node.of == ScopeOf::Module)
    }

    /// Returns the numbers of operators and of modules.
    pub fn counts(&self) -> (usize, usize) {
        let operators = self.nodes.iter().filter(|node| node.of == ScopeOf::Operator).count();
        (operators, self.nodes.len() - operators)
    }

    /// Adds the modules that a scope is in to a set.
    pub fn add_modules(&self, scope: Scope, into: &mut BTreeSet<Scope>) {
        let modules = self.outwards(scope).filter(|(_, node)| node.of == ScopeOf::Module).map(|(scope, _)| scope);
        into.extend(modules);
    }
}
