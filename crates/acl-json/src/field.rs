//! Typed access to the values of the file. Problems go into a [`Report`], and reading continues.

use std::collections::HashSet;

use opscope_text::did_you_mean;

use crate::json::Json;
use crate::{Location, Note, NoteKind, Problem, ProblemKind};

/// The problems and notes that were found so far.
#[derive(Default)]
pub(crate) struct Report {
    /// Whether the file is read as the vendor's library reads it.
    pub(crate) as_vendor: bool,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<Note>,
}

impl Report {
    pub(crate) fn problem(
        &mut self,
        kind: ProblemKind,
        pointer: &str,
        what: impl Into<String>,
        right: impl Into<String>,
    ) {
        self.problems.push(Problem::new(kind, Location::Pointer(pointer.to_owned()), what.into(), right.into()));
    }

    /// Reports a key that an object cannot have.
    fn unknown_key(&mut self, pointer: &str, right: String) {
        // Of the vendor's readers, only that of the profiler's section refuses unknown keys.
        if self.as_vendor && !pointer.starts_with("/profiler/") {
            self.note(NoteKind::NoEffect, pointer, "this key does not exist");
        } else {
            self.problem(ProblemKind::UnknownKey, pointer, "this key does not exist", right);
        }
    }

    pub(crate) fn warning(&mut self, pointer: &str, text: impl Into<String>) {
        self.note(NoteKind::Warning, pointer, text);
    }

    pub(crate) fn note(&mut self, kind: NoteKind, pointer: &str, text: impl Into<String>) {
        self.notes.push(Note { pointer: pointer.to_owned(), kind, text: text.into() });
    }
}

/// A value and its JSON pointer.
pub(crate) struct Field<'j> {
    pub(crate) pointer: String,
    json: &'j Json,
}

impl<'j> Field<'j> {
    pub(crate) fn root(json: &'j Json) -> Field<'j> {
        Field { pointer: String::new(), json }
    }

    pub(crate) fn problem(
        &self,
        report: &mut Report,
        kind: ProblemKind,
        what: impl Into<String>,
        right: impl Into<String>,
    ) {
        report.problem(kind, &self.pointer, what, right);
    }

    /// Returns the object. Reports keys that are not `known`, and keys that it has twice.
    pub(crate) fn object(&self, known: &[&str], report: &mut Report) -> Option<Object<'j>> {
        let Json::Object(members) = self.json else {
            self.wrong_type("an object, such as {...}", report);
            return None;
        };
        let object = Object { pointer: self.pointer.clone(), members };
        let mut seen = HashSet::new();
        for (key, _) in members {
            let pointer = object.pointer_of(key);
            if !known.contains(&key.as_str()) {
                let right = match did_you_mean(key, known.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the keys here are {}", listed(known, "and")),
                };
                report.unknown_key(&pointer, right);
            } else if !seen.insert(key) {
                report.problem(ProblemKind::DuplicateKey, &pointer, "this key is given twice", "keep one of them");
            }
        }
        Some(object)
    }

    pub(crate) fn items(&self, report: &mut Report) -> Option<Vec<Field<'j>>> {
        let Json::Array(items) = self.json else {
            self.wrong_type("an array, such as [...]", report);
            return None;
        };
        let item = |(index, json)| Field { pointer: format!("{}/{index}", self.pointer), json };
        Some(items.iter().enumerate().map(item).collect())
    }

    pub(crate) fn text(&self, report: &mut Report) -> Option<&'j str> {
        let Json::Text(text) = self.json else {
            self.wrong_type("a string, in double quotes", report);
            return None;
        };
        Some(text)
    }

    /// Returns the string, which must not be empty.
    pub(crate) fn filled_text(&self, report: &mut Report) -> Option<&'j str> {
        let text = self.text(report)?;
        if text.is_empty() {
            self.problem(report, ProblemKind::Content, "it is empty", "give a value, or leave the key out");
            return None;
        }
        Some(text)
    }

    pub(crate) fn integer(&self, least: u64, most: u64, report: &mut Report) -> Option<u64> {
        let right = if most == u64::MAX {
            format!("a whole number from {least} up, without quotes")
        } else {
            format!("a whole number from {least} to {most}, without quotes")
        };
        match self.json {
            Json::Integer(value) if (least..=most).contains(value) => Some(*value),
            Json::Integer(value) => {
                self.problem(report, ProblemKind::Value, format!("{value} is out of range"), format!("write {right}"));
                None
            }
            Json::OtherNumber(value) => {
                self.problem(report, ProblemKind::Value, format!("{value} is not allowed"), format!("write {right}"));
                None
            }
            _ => {
                self.wrong_type(&right, report);
                None
            }
        }
    }

    /// Returns a whole number, which may be in quotes: both forms occur in the vendor's files.
    pub(crate) fn count(&self, report: &mut Report) -> Option<u64> {
        match self.json {
            Json::Text(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                let number = text.parse().ok();
                if number.is_none() {
                    let what = format!("{} is too large", shortened(text));
                    self.problem(report, ProblemKind::Value, what, format!("write {} at most", u64::MAX));
                }
                number
            }
            Json::Text(text) => {
                let what = format!("\"{}\" is not a whole number", shortened(text));
                self.problem(report, ProblemKind::Value, what, "write digits");
                None
            }
            _ => self.integer(0, u64::MAX, report),
        }
    }

    /// Returns the value for the string, which must be one of these words.
    pub(crate) fn choice<T: Clone>(&self, choices: &[(&str, T)], report: &mut Report) -> Option<T> {
        let text = self.text(report)?;
        let found = choices.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
            self.not_a_choice(text, &words, report);
        }
        found.map(|(_, value)| value.clone())
    }

    pub(crate) fn on_off(&self, report: &mut Report) -> Option<bool> {
        self.choice(&[("on", true), ("off", false)], report)
    }

    pub(crate) fn not_a_choice(&self, text: &str, words: &[&str], report: &mut Report) {
        let what = format!("\"{}\" is not a value of this key", shortened(text));
        let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let quoted: Vec<_> = quoted.iter().map(String::as_str).collect();
        self.problem(report, ProblemKind::Choice, what, format!("write {}", listed(&quoted, "or")));
    }

    fn wrong_type(&self, right: &str, report: &mut Report) {
        self.problem(report, ProblemKind::Content, format!("this is {}", self.json.kind()), format!("write {right}"));
    }
}

/// An object and its JSON pointer.
pub(crate) struct Object<'j> {
    pub(crate) pointer: String,
    members: &'j [(String, Json)],
}

impl<'j> Object<'j> {
    pub(crate) fn get(&self, key: &str) -> Option<Field<'j>> {
        let (_, json) = self.members.iter().find(|(name, _)| name == key)?;
        Some(Field { pointer: self.pointer_of(key), json })
    }

    /// Returns whether the object has the key, with this string as its value.
    pub(crate) fn says(&self, key: &str, word: &str) -> bool {
        self.get(key).and_then(|field| field.text(&mut Report::default())).is_some_and(|text| text == word)
    }

    pub(crate) fn pointer_of(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"))
    }
}

/// Returns the words as a list for a message: `a, b or c`, if `last` is `or`.
fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Returns a string of the file, shortened for a message to at most 80 characters and an ellipsis.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
