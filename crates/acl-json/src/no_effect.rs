//! Keys that are valid but have no effect on this engine. Their values are checked, and each key is reported as a note.

use crate::field::{Field, Object, Report};
use crate::{NoteKind, ProblemKind};

/// A key without an effect, the values that it takes, and the reason.
pub(crate) struct NoEffect {
    pub(crate) key: &'static str,
    pub(crate) rule: Rule,
    pub(crate) reason: &'static str,
}

impl NoEffect {
    pub(crate) const fn new(key: &'static str, rule: Rule, reason: &'static str) -> NoEffect {
        NoEffect { key, rule, reason }
    }
}

/// The values that a key takes.
pub(crate) enum Rule {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A comma-separated list of these words.
    ListOf(&'static [&'static str]),
    /// A JSON integer, both ends included.
    Integer(u64, u64),
    /// A whole number, with or without quotes.
    Count,
    /// A string of at least 1 and at most this many bytes.
    Text(usize),
    /// One of these words, or `Custom:` and a list of events. The empty string stands for the vendor's default; the
    /// vendor's own tools write it.
    Metrics(&'static [&'static str]),
}

/// Checks those of these keys that the object has, and adds a note for each that is valid.
pub(crate) fn check(object: &Object<'_>, keys: &[NoEffect], report: &mut Report) {
    for NoEffect { key, rule, reason } in keys {
        if let Some(field) = object.get(key)
            && rule.holds(&field, report)
        {
            report.note(NoteKind::NoEffect, &field.pointer, *reason);
        }
    }
}

/// Checks an object that may have only these keys.
pub(crate) fn check_section(section: &Field<'_>, keys: &[NoEffect], report: &mut Report) {
    let known: Vec<_> = keys.iter().map(|key| key.key).collect();
    if let Some(object) = section.object(&known, report) {
        check(&object, keys, report);
    }
}

impl Rule {
    fn holds(&self, field: &Field<'_>, report: &mut Report) -> bool {
        let before = report.problems.len();
        match self {
            Rule::OneOf(words) => {
                let choices: Vec<_> = words.iter().map(|word| (*word, ())).collect();
                field.choice(&choices, report);
            }
            Rule::ListOf(words) => {
                list_of(field, words, report);
            }
            Rule::Integer(least, most) => {
                field.integer(*least, *most, report);
            }
            Rule::Count => {
                field.count(report);
            }
            Rule::Text(longest) => {
                if field.filled_text(report).is_some_and(|text| text.len() > *longest) {
                    let right = format!("write at most {longest} bytes");
                    field.problem(report, ProblemKind::Value, "the text is too long", right);
                }
            }
            Rule::Metrics(words) => match field.text(report) {
                Some(text) if text.strip_prefix("Custom:").is_some_and(|events| !events.is_empty()) => {}
                Some(text) if !text.is_empty() && !words.contains(&text) => field.not_a_choice(text, words, report),
                _ => {}
            },
        }
        report.problems.len() == before
    }
}

/// Returns the words of a comma-separated list. Reports each that is not one of `words`.
pub(crate) fn list_of<'j>(field: &Field<'j>, words: &[&str], report: &mut Report) -> Vec<&'j str> {
    let Some(text) = field.filled_text(report) else { return Vec::new() };
    let parts: Vec<_> = text.split(',').map(str::trim).collect();
    for part in &parts {
        if !words.contains(part) {
            field.not_a_choice(part, words, report);
        }
    }
    parts
}
