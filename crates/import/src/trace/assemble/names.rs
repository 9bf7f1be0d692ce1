//! Every text of a trace once, by a number.

use foldhash::HashMap;

/// The number of a text; 0 is the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct NameNumber(pub u32);

/// The texts, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Names {
    /// Returns the number of a text.
    pub fn number(&mut self, text: &str) -> NameNumber {
        if text.is_empty() {
            return NameNumber(0);
        }
        if let Some(&number) = self.numbers.get(text) {
            return NameNumber(number);
        }
        self.texts.push(text.into());
        let number = self.texts.len() as u32;
        self.numbers.insert(text.into(), number);
        NameNumber(number)
    }

    /// Returns how many texts there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the text of a number.
    pub fn text(&self, number: NameNumber) -> &str {
        number.0.checked_sub(1).and_then(|place| self.texts.get(place as usize)).map_or("", |text| text)
    }
}
