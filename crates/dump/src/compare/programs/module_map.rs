use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use regex_lite::Regex;

use super::place::Call;
use crate::StoredDump;

/// The names of modules in the reference, as rules that are applied one after the other.
///
/// A rule matches a whole path, or the beginning of one up to a dot: `model\.layers\.(\d+)=transformer.h.$1` turns
/// `model.layers.3.mlp` into `transformer.h.3.mlp`.
#[derive(Debug, Clone, Default)]
pub struct ModuleMap {
    rules: Vec<Rule>,
}

/// A rule: a regular expression, and the path that takes its place.
#[derive(Debug, Clone)]
struct Rule {
    text: String,
    pattern: Regex,
    path: String,
}

/// The error for a text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the map '{text}' is wrong: {reason}; write PATTERN=PATH, such as model\\.layers\\.(\\d+)=transformer.h.$1")]
pub struct WrongMap {
    text: String,
    reason: String,
}

/// The name of the group that matches what follows the pattern.
const REST: &str = "opscope_rest";

impl ModuleMap {
    /// Adds a rule, which is applied to the result of the earlier ones.
    pub fn push(&mut self, rule: ModuleMap) {
        self.rules.extend(rule.rules);
    }

    /// Returns whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds a rule that renames the module with exactly this name, and everything in it.
    pub(super) fn rename(&mut self, name: &str, other: &str) {
        let text = format!("{}={}", escaped(name), other.replace('$', "$$"));
        if let Ok(rule) = text.parse() {
            self.push(rule);
        }
    }

    /// Returns the name in the reference of a module, or of an operator, a value or a parameter in it.
    pub fn name(&self, name: &str) -> String {
        self.rules.iter().fold(name.to_owned(), |name, rule| rule.apply(&name).unwrap_or(name))
    }

    /// Returns the rules that match no module of a dump.
    pub fn unused(&self, dump: &StoredDump) -> Vec<&str> {
        let calls = dump.tensors.iter().filter_map(|tensor| Call::of(&tensor.place));
        let names: BTreeSet<String> = calls.map(|call| call.module).collect();
        self.unused_of(names.into_iter().collect())
    }

    fn unused_of(&self, mut names: Vec<String>) -> Vec<&str> {
        let mut unused = Vec::new();
        for rule in &self.rules {
            let mut is_used = false;
            for name in &mut names {
                if let Some(renamed) = rule.apply(name) {
                    is_used = true;
                    *name = renamed;
                }
            }
            if !is_used {
                unused.push(rule.text.as_str());
            }
        }
        unused
    }
}

impl Rule {
    fn apply(&self, name: &str) -> Option<String> {
        let found = self.pattern.captures(name)?;
        let mut renamed = String::new();
        found.expand(&self.path, &mut renamed);
        renamed += found.name(REST).map_or("", |rest| rest.as_str());
        Some(renamed)
    }
}

impl FromStr for ModuleMap {
    type Err = WrongMap;

    fn from_str(text: &str) -> Result<Self, WrongMap> {
        let wrong = |reason: String| WrongMap { text: text.to_owned(), reason };
        let (pattern, path) = text.split_once('=').ok_or_else(|| wrong("it has no '='".to_owned()))?;
        if pattern.is_empty() || path.is_empty() {
            return Err(wrong("one side of the '=' is empty".to_owned()));
        }
        // Operators and parameters follow a module's path behind these characters.
        let whole = format!("^(?:{pattern})(?<{REST}>(?:[./@:].*)?)$");
        let pattern = Regex::new(&whole).map_err(|error| wrong(error.to_string()))?;
        let rule = Rule { text: text.to_owned(), pattern, path: path.to_owned() };
        Ok(Self { rules: vec![rule] })
    }
}

impl fmt::Display for ModuleMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.rules.iter().map(|rule| rule.text.as_str()).collect();
        f.write_str(&texts.join(" "))
    }
}

/// Returns a pattern that matches exactly this text.
fn escaped(text: &str) -> String {
    let escape = |c: char| (!c.is_alphanumeric() && c != '_').then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rules: &[&str]) -> ModuleMap {
        let mut map = ModuleMap::default();
        rules.iter().for_each(|rule| map.push(rule.parse().unwrap()));
        map
    }

    #[test]
    fn a_rule_renames_a_module_and_what_is_in_it() {
        let layers = map(&[r"model\.layers\.(\d+)=transformer.h.$1"]);
        assert_eq!(layers.name("model.layers.3"), "transformer.h.3");
        assert_eq!(layers.name("model.layers.12.mlp.up"), "transformer.h.12.mlp.up");
        assert_eq!(layers.name("model.layers.3/aten.mm.default#1"), "transformer.h.3/aten.mm.default#1");
        assert_eq!(layers.name("model.layers.3.weight:input0"), "transformer.h.3.weight:input0");
        assert_eq!(layers.name("model.layers.x"), "model.layers.x");
        assert_eq!(layers.name("my.model.layers.3"), "my.model.layers.3", "it begins at the root");
    }

    #[test]
    fn rules_are_applied_one_after_the_other_and_those_that_match_nothing_are_told() {
        let both = map(&[r"layers\.(\d+)=h.$1", r"(.*)\.attention=$1.attn", "nothing=x"]);
        assert_eq!(both.name("layers.0.attention/aten.mm.default"), "h.0.attn/aten.mm.default");
        assert_eq!(both.unused_of(vec!["layers.0.attention".to_owned(), "head".to_owned()]), ["nothing=x"]);
        assert!(!both.is_empty() && ModuleMap::default().is_empty());
        let mut renamed = ModuleMap::default();
        renamed.rename("Net.a+", "$1");
        assert_eq!((renamed.name("Net.a+"), renamed.name("Net.aa")), ("$1".to_owned(), "Net.aa".to_owned()));
    }

    #[test]
    fn a_text_that_is_no_rule_says_what_would_be_right() {
        for (text, part) in [("layers", "no '='"), ("=h", "empty"), ("h=", "empty"), ("(=h", "group")] {
            let error = text.parse::<ModuleMap>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("PATTERN=PATH"), "{error}");
        }
    }
}
