//! JSON exactly as the file has it, including duplicate keys, with a limit on its nesting.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::{DEEPEST_NESTING, Location, Problem, ProblemKind};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(u64),
    /// A number that is negative, fractional or too large for a `u64`. No key takes one, so only its text is kept.
    OtherNumber(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Returns the name of its type, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Integer(_) | Json::OtherNumber(_) => "a number",
            Json::Text(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

/// Decodes a file as UTF-8, and removes a byte order mark.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, Problem> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + valid.iter().rev().take_while(|byte| **byte != b'\n').count();
        let what = "this byte does not belong to UTF-8 text".to_owned();
        Problem::new(ProblemKind::Syntax, Location::Text { line, column }, what, "save the file as UTF-8".to_owned())
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

pub(crate) fn parse(text: &str) -> Result<Json, Problem> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let json = Level::default().deserialize(&mut deserializer).and_then(|json| deserializer.end().map(|()| json));
    json.map_err(|error| {
        let location = Location::Text { line: error.line(), column: error.column() };
        let right = if error.is_data() {
            format!("nest objects at most {DEEPEST_NESTING} levels deep, and arrays as deep")
        } else {
            "write JSON: keys and strings in double quotes, no comments, no comma after the last entry".to_owned()
        };
        let message = error.to_string();
        let what = message.split(" at line ").next().unwrap_or_default();
        Problem::new(ProblemKind::Syntax, location, format!("the text is not an acl.json: {what}"), right)
    })
}

/// Reads one value that is nested in this many objects and this many arrays. The vendor's library limits the two counts
/// separately.
#[derive(Clone, Copy, Default)]
struct Level {
    objects: usize,
    arrays: usize,
}

impl Level {
    fn checked<E: Error>(self) -> Result<Self, E> {
        let deepest = self.objects.max(self.arrays);
        if deepest <= DEEPEST_NESTING { Ok(self) } else { Err(E::custom("it is nested too deep")) }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or_else(|_| Json::OtherNumber(value.to_string()), Json::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::OtherNumber(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let level = Self { arrays: self.arrays + 1, ..self }.checked()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(level)? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let level = Self { objects: self.objects + 1, ..self }.checked()?;
        let mut members = Vec::new();
        while let Some(key) = access.next_key::<String>()? {
            members.push((key, access.next_value_seed(level)?));
        }
        Ok(Json::Object(members))
    }
}
