use std::fmt;
use std::path::Path;
use std::str::FromStr;

use opscope_onnx::{Graph, Operator, Pattern};
use serde::{Deserialize, Serialize};

/// The operators at which a breakpoint stops.
///
/// As text:
///
/// | text | means |
/// |---|---|
/// | `#12` | the operator with this index in the graph |
/// | `name:/layer1/*` | operators by name: a name, a glob pattern, or `re:` and a regular expression. Where the file has modules, the name that is shown (`layers.0.c1 (Conv)`) is a name, too, and a module's path means the operators in it |
/// | `type:Conv` | operators by type: a type, a glob pattern, or `re:` and a regular expression |
/// | `Conv` | what `name:Conv` means; where no operator has the name, what `type:Conv` means |
/// | `train.py:88` | the operators that this line of a Python program calls, if the file or the program says which; the file by its whole path, or the end of it |
/// | `*` | all operators |
/// | `first nonfinite` | the first operator whose outputs have NaN or infinity although its inputs have none, or that takes some from outside of the run |
/// | `first nan`, `first inf` | the same for one of them |
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// By index.
    Index(u32),
    /// By name.
    Name(Pattern),
    /// By type.
    Type(Pattern),
    /// By name, or by type if no name matches.
    NameOrType(Pattern),
    /// By the line of the program.
    Line(ProgramLine),
    /// The first operator that computes or takes in such elements.
    First(Watched),
}

/// A line of a Python program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLine {
    /// The file, by its whole path or the end of it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// The elements that a breakpoint watches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// NaN.
    Nan,
    /// Infinity of either sign.
    Infinite,
    /// Both.
    NonFinite,
}

/// The error for a text that is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a target of a breakpoint: {reason}")]
pub struct TargetError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The longest text of a target, in bytes. It is limited because a pattern is matched, over its whole length, at each
/// character of each name.
const MOST_TEXT: usize = 1024;

impl Target {
    /// Returns the operators of a graph that it matches, in the order of their ids. For [`Target::First`] these are all
    /// operators.
    pub fn operators<'a>(&self, graph: &'a Graph) -> Vec<&'a Operator> {
        let by = |fits: &dyn Fn(&Operator) -> bool| graph.all_operators().filter(|operator| fits(operator)).collect();
        match self {
            Target::Index(index) => by(&|operator| operator.id.index() == *index as usize),
            Target::Name(pattern) => by(&|operator| pattern.matches_operator(operator)),
            Target::Type(pattern) => by(&|operator| pattern.matches(&operator.op_type)),
            Target::NameOrType(pattern) => {
                let named: Vec<_> = by(&|operator| pattern.matches_operator(operator));
                if named.is_empty() { by(&|operator| pattern.matches(&operator.op_type)) } else { named }
            }
            Target::Line(line) => by(&|operator| line.calls(operator)),
            Target::First(_) => by(&|_| true),
        }
    }

    /// Returns whether it may match an operator that was just found. Only the whole graph tells whether an operator of
    /// a type is meant, or another one of that name.
    pub(crate) fn may_match(&self, operator: &Operator) -> bool {
        match self {
            Target::Index(index) => operator.id.index() == *index as usize,
            Target::Name(pattern) => pattern.matches_operator(operator),
            Target::Type(pattern) => pattern.matches(&operator.op_type),
            Target::NameOrType(pattern) => pattern.matches_operator(operator) || pattern.matches(&operator.op_type),
            Target::Line(line) => line.calls(operator),
            Target::First(_) => true,
        }
    }

    /// Returns the pattern of names or types; `None` for other targets.
    pub(crate) fn pattern(&self) -> Option<&Pattern> {
        match self {
            Target::Name(pattern) | Target::Type(pattern) | Target::NameOrType(pattern) => Some(pattern),
            Target::Index(_) | Target::Line(_) | Target::First(_) => None,
        }
    }
}

impl ProgramLine {
    fn parse(text: &str) -> Option<Self> {
        let (file, line) = text.rsplit_once(':').filter(|(file, _)| file.ends_with(".py"))?;
        Some(Self { file: file.to_owned(), line: line.parse().ok()? })
    }

    fn calls(&self, operator: &Operator) -> bool {
        let Some(source) = operator.origin.as_ref().and_then(|origin| origin.source.as_ref()) else { return false };
        let (file, wanted) = (Path::new(&source.file), Path::new(&self.file));
        source.line == self.line && (file.ends_with(wanted) || wanted.ends_with(file))
    }
}

impl Watched {
    /// Returns whether it watches for NaN.
    pub fn nan(self) -> bool {
        self != Watched::Infinite
    }

    /// Returns whether it watches for infinity.
    pub fn infinite(self) -> bool {
        self != Watched::Nan
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let wrong = |reason: String| TargetError { text: text.to_owned(), reason };
        let pattern = |pattern: &str| match pattern {
            "" => Err(wrong("a name or a pattern is missing; right is, for example, Conv_3 or name:/layer1/*".into())),
            pattern => Pattern::parse(pattern).map_err(|error| wrong(error.reason)),
        };
        let text = text.trim();
        if text.len() > MOST_TEXT {
            let reason = format!("it is longer than {MOST_TEXT} bytes");
            return Err(TargetError { text: text.chars().take(40).chain("...".chars()).collect(), reason });
        }
        if let Some(index) = text.strip_prefix('#') {
            let index = index.parse().map_err(|_| wrong("'#' is followed by an operator's index, as in #12".into()))?;
            return Ok(Target::Index(index));
        }
        if let Some(name) = text.strip_prefix("name:") {
            return Ok(Target::Name(pattern(name)?));
        }
        if let Some(op_type) = text.strip_prefix("type:") {
            return Ok(Target::Type(pattern(op_type)?));
        }
        if let Some(watched) = text.strip_prefix("first ") {
            return Ok(Target::First(match watched.trim() {
                "nan" => Watched::Nan,
                "inf" => Watched::Infinite,
                "nonfinite" => Watched::NonFinite,
                other => return Err(wrong(format!("'first' is followed by nan, inf or nonfinite, not by '{other}'"))),
            }));
        }
        if let Some(line) = ProgramLine::parse(text) {
            return Ok(Target::Line(line));
        }
        Ok(Target::NameOrType(pattern(text)?))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Index(index) => write!(f, "#{index}"),
            Target::Name(pattern) => write!(f, "name:{pattern}"),
            Target::Type(pattern) => write!(f, "type:{pattern}"),
            Target::NameOrType(pattern) => write!(f, "{pattern}"),
            Target::Line(ProgramLine { file, line }) => write!(f, "{file}:{line}"),
            Target::First(Watched::Nan) => f.write_str("first nan"),
            Target::First(Watched::Infinite) => f.write_str("first inf"),
            Target::First(Watched::NonFinite) => f.write_str("first nonfinite"),
        }
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;
    use opscope_onnx::{CodeOrigin, SourceLine};

    use super::*;

    #[test]
    fn a_target_has_at_most_1024_bytes() {
        let name = |length: usize| "n".repeat(length);
        assert_eq!(name(1024).parse::<Target>().expect("it is short enough").to_string(), name(1024));
        assert!(format!("  {}  ", name(1024)).parse::<Target>().is_ok(), "spaces around it do not count");
        let error = name(1025).parse::<Target>().expect_err("it is too long");
        assert_eq!(
            error.to_string(),
            format!("'{}...' is not a target of a breakpoint: it is longer than 1024 bytes", name(40))
        );
    }

    #[test]
    fn a_line_of_a_program_means_the_operators_that_it_calls() {
        let target = |text: &str| text.parse::<Target>().unwrap();
        let Target::Line(line) = target("src/train.py:88") else { panic!("it is a line") };
        assert_eq!((line.file.as_str(), line.line), ("src/train.py", 88));
        assert_eq!(target("src/train.py:88").to_string(), "src/train.py:88");
        for other in ["train.py", "train.py:", "train.py:x", "train:88", "name:train.py:88"] {
            assert!(!matches!(target(other), Target::Line(_)), "{other}");
        }
        let operator = |file: &str, line| {
            let source = SourceLine { file: file.to_owned(), line, code: None };
            let origin = CodeOrigin { source: Some(source), ..CodeOrigin::default() };
            let graph = GraphBuilder::new("lines").input("x", &[1]).operator("op", "Op", &["x"], &["y"]);
            let mut operator = graph.build().operators[0].clone();
            operator.origin = Some(origin);
            operator
        };
        for (wanted, file, number, is_meant) in [
            ("train.py:3", "/home/me/train.py", 3, true),
            ("/home/me/train.py:3", "train.py", 3, true),
            ("me/train.py:3", "/home/me/train.py", 3, true),
            ("train.py:3", "/home/me/train.py", 4, false),
            ("rain.py:3", "/home/me/train.py", 3, false),
            ("/you/train.py:3", "/home/me/train.py", 3, false),
        ] {
            assert_eq!(target(wanted).may_match(&operator(file, number)), is_meant, "{wanted} {file}:{number}");
        }
    }

    #[test]
    fn what_is_watched_for_is_nan_or_infinity_or_both() {
        for (text, nan, infinite) in
            [("first nan", true, false), ("first  inf", false, true), ("first nonfinite", true, true)]
        {
            let Ok(Target::First(watched)) = text.parse() else { panic!("{text} watches") };
            assert_eq!((watched.nan(), watched.infinite()), (nan, infinite), "{text}");
        }
    }
}
