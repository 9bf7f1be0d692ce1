use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use opscope_model::RunId;
use opscope_onnx::{Graph, Operator, OperatorId, Pattern};

use crate::{DumpError, Io};

/// The tensors to capture: those for which every condition holds. The default is every output of every operator.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Operators by name. Empty for all.
    pub operators: Vec<Pattern>,
    /// Operators by type. Empty for all.
    pub op_types: Vec<Pattern>,
    /// Ranges of operators in the order of the graph, both ends included. Empty for all.
    pub ranges: Vec<OperatorRange>,
    /// Whether inputs, outputs or both are captured.
    pub io: IoSelection,
    /// Slots of inputs and outputs, or `None` for all.
    pub slots: Option<Vec<usize>>,
    /// The runs.
    pub runs: Runs,
    /// The most tensors to capture.
    pub first: Option<u64>,
    /// Only tensors with a NaN or an infinite element.
    pub only_non_finite: bool,
    /// The most bytes to capture. A tensor that no longer fits is listed as missing.
    pub byte_budget: Option<u64>,
    /// Tensors to exclude, by the operator's type.
    pub type_blacklist: Vec<BlacklistEntry>,
    /// Tensors to exclude, by the operator's name.
    pub name_blacklist: Vec<BlacklistEntry>,
    /// A choice that is made when an operator of an open model is executed, or `None` for all.
    pub chooser: Option<Chooser>,
}

pub(crate) type Range = RangeInclusive<OperatorId>;

/// The operators from one to another, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorRange {
    /// The name of the first operator, or the path of a module that begins with it.
    pub begin: String,
    /// The name of the last operator, or the path of a module that ends with it.
    pub end: String,
}

/// The sides of an operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IoSelection {
    /// Its inputs.
    Inputs,
    /// Its outputs.
    #[default]
    Outputs,
    /// Both.
    All,
}

/// Tensors to exclude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlacklistEntry {
    /// The operator's exact name or type.
    pub name: String,
    /// The tensors to exclude. Empty for all of the operator's.
    pub positions: Vec<Position>,
}

/// The position of a tensor at an operator: `input0`, `output1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The side.
    pub io: Io,
    /// The slot.
    pub slot: usize,
}

impl Selection {
    /// Checks that the names in the selection exist in this graph, and that it matches a tensor and one of `runs` runs.
    /// Without this check, a selection with a wrong name would silently capture less than intended.
    ///
    /// # Errors
    /// Returns an error for each name that does not exist, or one error if the selection matches no run or no tensor.
    pub fn check(&self, graph: &Graph, runs: u64) -> Result<(), Vec<DumpError>> {
        let exact = self.operators.iter().filter_map(|pattern| match pattern {
            Pattern::Exact(name) => Some(name),
            _ => None,
        });
        let ends = self.ranges.iter().flat_map(|range| [&range.begin, &range.end]);
        let unknown: Vec<_> = exact
            .chain(ends)
            .filter(|name| !graph.all_operators().any(|operator| operator.names().any(|known| known == *name)))
            .map(|name| DumpError::NoSuchOperator {
                name: name.clone(),
                nearest: graph.nearest_operator(name).map(|found| found.display_name().to_owned()),
            })
            .collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        if !self.runs.any_of(runs) {
            return Err(vec![DumpError::NoSuchRun { runs }]);
        }
        let ranges = self.ranges_in(graph);
        if graph.all_operators().any(|operator| self.wants_any_of(&ranges, operator)) {
            Ok(())
        } else {
            Err(vec![DumpError::NothingSelected { operators: graph.all_operators().count() }])
        }
    }

    fn wants_any_of(&self, ranges: &[Range], operator: &Operator) -> bool {
        let sides = [(Io::Input, &operator.inputs), (Io::Output, &operator.outputs)];
        sides.into_iter().any(|(io, values)| {
            (0..values.len()).any(|slot| values[slot].is_some() && self.wants(ranges, operator, io, slot))
        })
    }

    /// Returns whether an operator is selected by its own name, or by that of a module that it lies in.
    pub(crate) fn names(&self, operator: &Operator) -> bool {
        self.operators.iter().any(|pattern| matches!(pattern, Pattern::Exact(_)) && pattern.matches_operator(operator))
    }

    /// Returns the ranges as positions in this graph. A module begins with its first operator and ends with its last.
    pub(crate) fn ranges_in(&self, graph: &Graph) -> Vec<Range> {
        let place = |name: &str, of_module: fn(&[OperatorId]) -> Option<OperatorId>| {
            let named = graph.operator_named(name).map(|operator| operator.id);
            named.or_else(|| {
                let is_in = |operator: &&Operator| operator.names().any(|known| known == name);
                // Operators in bodies come after all others, wherever their loop is.
                let inner = graph.inner_operators.iter().filter(is_in).map(|operator| operator.id);
                let main: Vec<OperatorId> = graph.operators.iter().filter(is_in).map(|operator| operator.id).collect();
                of_module(&main).or_else(|| of_module(&inner.collect::<Vec<_>>()))
            })
        };
        let range = |range: &OperatorRange| {
            Some(place(&range.begin, |all| all.first().copied())?..=place(&range.end, |all| all.last().copied())?)
        };
        self.ranges.iter().filter_map(range).collect()
    }

    /// Returns whether the tensor at this position in the graph matches. Conditions on its data are not checked.
    pub(crate) fn wants(&self, ranges: &[Range], operator: &Operator, io: Io, slot: usize) -> bool {
        let named = |patterns: &[Pattern], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
        };
        let listed = |list: &[BlacklistEntry], name: &str| {
            list.iter().any(|entry| {
                entry.name == name && (entry.positions.is_empty() || entry.positions.contains(&Position { io, slot }))
            })
        };
        self.io.contains(io)
            && (self.operators.is_empty() || self.operators.iter().any(|pattern| pattern.matches_operator(operator)))
            && named(&self.op_types, &operator.op_type)
            && (self.ranges.is_empty() || ranges.iter().any(|range| range.contains(&operator.id)))
            && self.slots.as_ref().is_none_or(|slots| slots.contains(&slot))
            && !listed(&self.type_blacklist, &operator.op_type)
            && !listed(&self.name_blacklist, &operator.name)
            && self.chooser.as_ref().is_none_or(|chooser| chooser.wants(operator, Position { io, slot }))
    }
}

impl IoSelection {
    /// Every variant.
    pub const ALL: [IoSelection; 3] = [IoSelection::Inputs, IoSelection::Outputs, IoSelection::All];

    /// `inputs`, `outputs` or `all`.
    pub fn name(self) -> &'static str {
        match self {
            IoSelection::Inputs => "inputs",
            IoSelection::Outputs => "outputs",
            IoSelection::All => "all",
        }
    }

    /// Returns whether a side is included.
    pub fn contains(self, io: Io) -> bool {
        match self {
            IoSelection::Inputs => io == Io::Input,
            IoSelection::Outputs => io == Io::Output,
            IoSelection::All => true,
        }
    }
}

impl FromStr for Position {
    type Err = DumpError;

    fn from_str(text: &str) -> Result<Self, DumpError> {
        let side = |io: Io| text.strip_prefix(io.name()).map(|slot| (io, slot));
        let (io, slot) =
            side(Io::Input).or_else(|| side(Io::Output)).ok_or_else(|| DumpError::Position(text.into()))?;
        match slot.bytes().all(|byte| byte.is_ascii_digit()).then(|| slot.parse().ok()).flatten() {
            Some(slot) => Ok(Self { io, slot }),
            None => Err(DumpError::Position(text.into())),
        }
    }
}

/// A set of runs. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    ranges: Option<Vec<RangeInclusive<u64>>>,
}

impl Runs {
    /// The maximum number of parts in a list.
    pub const MOST_PARTS: usize = 100;

    /// Returns whether one of the first `runs` runs is in the set.
    fn any_of(&self, runs: u64) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|range| *range.start() < runs))
    }

    /// Returns whether a run is in the set.
    pub fn contains(&self, run: RunId) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&run.0)))
    }
}

/// Parses a list in the syntax of acl.json's `dump_step`: `0|5-10|20`, with at most [`Runs::MOST_PARTS`] parts.
impl FromStr for Runs {
    type Err = DumpError;

    fn from_str(text: &str) -> Result<Self, DumpError> {
        let wrong = |reason: String| DumpError::Runs { text: text.into(), reason };
        let parts: Vec<&str> = text.split('|').collect();
        if parts.len() > Self::MOST_PARTS {
            return Err(wrong(format!("it has {} parts, more than {}", parts.len(), Self::MOST_PARTS)));
        }
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| wrong(format!("'{digits}' is not a number of a run"))),
            false => Err(wrong(format!("'{digits}' is not a number"))),
        };
        let mut ranges = Vec::new();
        for part in parts {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong(format!("{first} is greater than {last}")));
            }
            ranges.push(first..=last);
        }
        Ok(Self { ranges: Some(ranges) })
    }
}

/// A choice among the tensors of an open model, whose operators are not known before they are executed.
///
/// It is asked about every operator that is executed, in that order, whether or not the operator has such a tensor.
#[derive(Clone)]
pub struct Chooser(Arc<Wants>);

type Wants = dyn Fn(&Operator, Position) -> bool + Send + Sync;

impl Chooser {
    /// Creates a choice by a function that returns whether a tensor is wanted. It must always return the same for the
    /// same operator.
    pub fn new(wants: impl Fn(&Operator, Position) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(wants))
    }

    /// Returns whether the tensor at this position is wanted.
    pub fn wants(&self, operator: &Operator, position: Position) -> bool {
        (self.0)(operator, position)
    }
}

impl fmt::Debug for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Chooser")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_runs_is_read_as_acl_json_writes_it() {
        let runs: Runs = "0|5-10|20".parse().unwrap();
        let meant: Vec<u64> = (0..30).filter(|&run| runs.contains(RunId(run))).collect();
        assert_eq!(meant, [0, 5, 6, 7, 8, 9, 10, 20]);
        assert!(Runs::default().contains(RunId(u64::MAX)));
    }

    #[test]
    fn a_list_that_is_wrong_is_refused_with_what_is_wrong() {
        for (text, reason) in
            [("", "not a number"), ("5-3", "greater"), ("1,2", "not a number"), ("1-2-3", "not a number")]
        {
            assert!(text.parse::<Runs>().unwrap_err().to_string().contains(reason), "{text}");
        }
        assert!("1|".repeat(101).parse::<Runs>().is_err());
        assert!("99999999999999999999".parse::<Runs>().is_err());
    }
}
