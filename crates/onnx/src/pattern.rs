use std::fmt;

use regex_lite::Regex;

use crate::Operator;

/// A pattern for the names of operators or values.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// Exactly this name.
    Exact(String),
    /// A glob: `*` matches any characters (including `/`), `?` matches one, `[a-z]` one of a set, `[!a-z]` or `[^a-z]`
    /// one that is not in the set.
    Glob(String),
    /// A regular expression that must match somewhere in the name.
    Regex(Regex),
}

/// The error for a text that is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern '{pattern}' is wrong: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Pattern {
    /// Creates a glob pattern.
    ///
    /// # Errors
    /// Returns an error if a `[` has no `]`.
    pub fn glob(pattern: &str) -> Result<Self, PatternError> {
        let mut rest: Vec<char> = pattern.chars().collect();
        while let Some(open) = rest.iter().position(|&c| c == '[') {
            let Some((_, length)) = class(&rest[open..], '\0') else {
                let reason = "a '[' has no ']'".into();
                return Err(PatternError { pattern: pattern.into(), reason });
            };
            rest.drain(..open + length);
        }
        Ok(Pattern::Glob(pattern.into()))
    }

    /// Creates a regular expression.
    ///
    /// # Errors
    /// Returns an error if it is not a valid regular expression.
    pub fn regex(pattern: &str) -> Result<Self, PatternError> {
        Regex::new(pattern)
            .map(Pattern::Regex)
            .map_err(|error| PatternError { pattern: pattern.into(), reason: error.to_string() })
    }

    /// Parses a pattern from a command line. A text that begins with `re:` is a regular expression, one that contains
    /// `*`, `?` or `[` is a glob pattern, and any other is an exact name.
    ///
    /// # Errors
    /// Returns an error if the glob or the regular expression is not valid.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        match text.strip_prefix("re:") {
            Some(expression) => Self::regex(expression),
            None if text.contains(['*', '?', '[']) => Self::glob(text),
            None => Ok(Pattern::Exact(text.into())),
        }
    }

    /// Returns whether the pattern matches an operator: its name, its display name, or a module that it is in. So
    /// `layers.3.attn` matches every operator of that module.
    pub fn matches_operator(&self, operator: &Operator) -> bool {
        operator.names().any(|name| self.matches(name))
    }

    /// Returns whether the pattern matches a name.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Pattern::Exact(exact) => exact == name,
            Pattern::Glob(glob) => {
                let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
                glob_matches(&glob, &name)
            }
            Pattern::Regex(regex) => regex.is_match(name),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Exact(name) | Pattern::Glob(name) => f.write_str(name),
            Pattern::Regex(regex) => write!(f, "re:{regex}"),
        }
    }
}

/// Backtracks only to the last `*`, so the time is at most proportional to the product of the lengths.
fn glob_matches(glob: &[char], name: &[char]) -> bool {
    let (mut g, mut n) = (0, 0);
    let mut retry = None;
    while n < name.len() {
        let step = match glob.get(g) {
            Some('*') => {
                retry = Some((g + 1, n));
                g += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(&glob[g..], name[n]).and_then(|(hit, length)| hit.then_some(length)),
            Some(&c) => (c == name[n]).then_some(1),
            None => None,
        };
        match (step, retry) {
            (Some(length), _) => (g, n) = (g + length, n + 1),
            (None, Some((after_star, from))) => {
                (g, n) = (after_star, from + 1);
                retry = Some((after_star, from + 1));
            }
            (None, None) => return false,
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

/// Returns whether a character is in the set at the beginning of `glob`, and the length of the set's text.
fn class(glob: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(glob.get(1), Some('!' | '^'));
    let first = 1 + usize::from(negated);
    // A ']' at the beginning is a member of the set.
    let end = first + 1 + glob.get(first + 1..)?.iter().position(|&c| c == ']')?;
    let set = &glob[first..end];
    let (mut at, mut found) = (0, false);
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == '-' {
            found |= (set[at]..=set[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= set[at] == c;
            at += 1;
        }
    }
    Some((found != negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_patterns_match_whole_names() {
        let cases = [
            ("*", "", true),
            ("/layer.*/MatMul*", "/layer.3/attention/MatMul_1", true),
            ("Conv", "Conv_1", false),
            ("Conv_?", "Conv_1", true),
            ("Conv_?", "Conv_12", false),
            ("Conv_[0-3]", "Conv_2", true),
            ("Conv_[!0-3]", "Conv_2", false),
            ("a[]]b", "a]b", true),
            ("Conv_[a-]", "Conv_-", true),
            ("Conv_[a-]", "Conv_a", true),
            ("Conv_[a-]", "Conv_b", false),
            ("*a*b*c", "xxaxxbxxbxc", true),
            ("*a*b*c", "xxaxxbxxbx", false),
        ];
        for (glob, name, expected) in cases {
            assert_eq!(Pattern::glob(glob).unwrap().matches(name), expected, "{glob} {name}");
        }
        assert!(Pattern::glob("Conv_[0-3").is_err());
    }

    #[test]
    fn a_pattern_of_many_stars_takes_no_exponential_time() {
        let glob = Pattern::glob(&"*a".repeat(50)).unwrap();
        assert!(!glob.matches(&"a".repeat(49).repeat(40).replace("aa", "ab")[..40]));
    }

    #[test]
    fn the_command_line_tells_names_globs_and_expressions_apart() {
        assert!(matches!(Pattern::parse("/a/b.c"), Ok(Pattern::Exact(_))));
        assert!(matches!(Pattern::parse("/a/*"), Ok(Pattern::Glob(_))));
        assert!(Pattern::parse("re:^Conv_[0-9]+$").unwrap().matches("Conv_17"));
        assert!(matches!(Pattern::parse("re:("), Err(PatternError { .. })));
    }
}
