use std::collections::HashMap;

use super::Mapping;
use crate::{Io, Place};

/// How a tensor and its reference were found to belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedBy {
    /// The mapping says so.
    Mapping,
    /// They are the same value of the model.
    Value,
    /// They are at the same slot of the same operator.
    Operator,
    /// Their names are the same but for characters that a file's name cannot hold.
    Spelling,
}

/// The tensors of a reference, to be found by their places.
pub(super) struct Matcher {
    places: Vec<Place>,
    by_value: HashMap<String, Vec<usize>>,
    by_operator: HashMap<(String, Io, usize), Vec<usize>>,
    by_spelling: HashMap<String, Vec<usize>>,
    mapping: Mapping,
}

impl Matcher {
    pub fn new<'p>(reference: impl Iterator<Item = &'p Place>, mapping: &Mapping) -> Self {
        let places: Vec<Place> = reference.cloned().collect();
        let (mut by_value, mut by_operator, mut by_spelling) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (index, place) in places.iter().enumerate() {
            if let Some(value) = &place.value {
                by_value.entry(value.clone()).or_insert_with(Vec::new).push(index);
                by_spelling.entry(spelling(value)).or_insert_with(Vec::new).push(index);
            }
            if let Some(key) = operator_key(place) {
                by_operator.entry(key).or_insert_with(Vec::new).push(index);
            }
        }
        Self { places, by_value, by_operator, by_spelling, mapping: mapping.clone() }
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What belongs to a tensor.
    pub fn find(&self, place: &Place) -> Option<(usize, MatchedBy)> {
        let mapped = place.value.as_deref().and_then(|value| self.mapping.of(value));
        if let Some(name) = mapped.or_else(|| self.mapping.of(&operator_label(place)?)) {
            let found = self.by_value.get(name).or_else(|| self.by_operator.get(&parse_label(name)?));
            return found.and_then(|found| self.nearest(place, found)).map(|index| (index, MatchedBy::Mapping));
        }
        let value = place.value.as_ref();
        let by_value = || self.nearest(place, self.by_value.get(value?)?);
        let by_operator = || self.nearest(place, self.by_operator.get(&operator_key(place)?)?);
        let by_spelling = || self.nearest(place, self.by_spelling.get(&spelling(value?))?);
        by_value()
            .map(|index| (index, MatchedBy::Value))
            .or_else(|| by_operator().map(|index| (index, MatchedBy::Operator)))
            .or_else(|| by_spelling().map(|index| (index, MatchedBy::Spelling)))
    }

    /// Of several places the one of the same run; where one side does not tell runs apart, the first. Outputs before
    /// inputs, unless an input is looked for.
    fn nearest(&self, place: &Place, found: &[usize]) -> Option<usize> {
        let fits = |index: &&usize| {
            let run = self.places[**index].run;
            run == place.run || run.is_none() || place.run.is_none()
        };
        let likeness = |index: &&usize| {
            let other = &self.places[**index];
            (other.run != place.run, other.io != place.io, other.slot != place.slot, **index)
        };
        found.iter().filter(fits).min_by_key(likeness).copied()
    }
}

fn operator_key(place: &Place) -> Option<(String, Io, usize)> {
    Some((place.operator.clone()?, place.io?, place.slot?))
}

/// `operator:output0`.
fn operator_label(place: &Place) -> Option<String> {
    operator_key(place).map(|(operator, io, slot)| format!("{operator}:{io}{slot}"))
}

fn parse_label(label: &str) -> Option<(String, Io, usize)> {
    let (operator, position) = label.rsplit_once(':')?;
    let position: crate::Position = position.parse().ok()?;
    Some((operator.into(), position.io, position.slot))
}

/// What is left of a name in a file's name: letters and digits.
fn spelling(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}
