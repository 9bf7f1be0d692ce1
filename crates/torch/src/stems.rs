use std::sync::Arc;

use foldhash::HashMap;

use crate::{ModulePath, Phase, Place};

/// The names of what is executed: stems, and how often each was executed in the current step.
///
/// A place that was met before is found by the addresses of its parts, so that its name is not built again.
#[derive(Default)]
pub(crate) struct Stems {
    by_place: HashMap<Key, Met>,
    by_name: HashMap<String, usize>,
    stems: Vec<Stem>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    module: usize,
    operator: usize,
    call: u32,
    phase: Phase,
}

struct Met {
    stem: usize,
    /// Kept, so that nothing else gets their addresses.
    _parts: (Option<Arc<ModulePath>>, Option<Arc<str>>),
}

struct Stem {
    name: String,
    executed: u32,
    /// The names of its operators, by ordinal.
    names: Vec<Arc<str>>,
}

impl Stem {
    /// Returns the name of its next operator, and the number.
    fn coming(&mut self) -> (Arc<str>, u32) {
        let number = self.executed;
        if self.names.len() == number as usize {
            self.names.push(Arc::from(Place::name(&self.name, number)));
        }
        (Arc::clone(&self.names[number as usize]), number)
    }
}

/// How many places are kept. A program that makes modules again and again would need more and more memory for them.
const MOST_PLACES: usize = 1 << 18;

impl Stems {
    /// Returns the name of what is executed at a place now, and its number there in this step.
    pub fn next(&mut self, place: &Place) -> (Arc<str>, u32) {
        let index = self.index(place);
        let stem = &mut self.stems[index];
        let coming = stem.coming();
        stem.executed += 1;
        coming
    }

    /// Returns what [`next`](Self::next) will return for a place.
    pub fn coming(&mut self, place: &Place) -> (Arc<str>, u32) {
        let index = self.index(place);
        self.stems[index].coming()
    }

    /// Begins a step.
    pub fn begin_step(&mut self) {
        self.stems.iter_mut().for_each(|stem| stem.executed = 0);
    }

    fn index(&mut self, place: &Place) -> usize {
        let address = |part: Option<*const ()>| part.map_or(0, |part| part.addr());
        let key = Key {
            module: address(place.module.as_ref().map(|module| Arc::as_ptr(module).cast())),
            operator: address(place.operator.as_ref().map(|operator| Arc::as_ptr(operator).cast())),
            call: place.call,
            phase: place.phase,
        };
        if let Some(met) = self.by_place.get(&key) {
            return met.stem;
        }
        let name = place.stem();
        let stem = *self.by_name.entry(name.clone()).or_insert_with(|| {
            self.stems.push(Stem { name, executed: 0, names: Vec::new() });
            self.stems.len() - 1
        });
        if self.by_place.len() >= MOST_PLACES {
            self.by_place.clear();
        }
        self.by_place.insert(key, Met { stem, _parts: (place.module.clone(), place.operator.clone()) });
        stem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(module: &str, operator: &str, phase: Phase) -> Place {
        Place {
            module: Some(Arc::new(ModulePath { name: module.to_owned(), modules: Vec::new() })),
            call: 0,
            phase,
            operator: Some(Arc::from(operator)),
            class: Arc::from("Block"),
            source: None,
        }
    }

    #[test]
    fn names_are_counted_by_what_they_say_and_begin_again_with_a_step() {
        let mut stems = Stems::default();
        let first = place("a", "add", Phase::Forward);
        let same = place("a", "add", Phase::Forward);
        let next = |stems: &mut Stems, place: &Place| stems.next(place).0.to_string();
        assert_eq!(next(&mut stems, &first), "a/add");
        assert_eq!(next(&mut stems, &same), "a/add#1", "another module with the same name");
        assert_eq!(next(&mut stems, &first), "a/add#2");
        assert_eq!(next(&mut stems, &Place { call: 1, ..first.clone() }), "a@1/add");
        assert_eq!(next(&mut stems, &Place { phase: Phase::Backward, ..first.clone() }), "a/backward/add");
        assert_eq!(next(&mut stems, &Place { operator: None, ..first.clone() }), "a");
        assert_eq!(next(&mut stems, &place("b", "add", Phase::Forward)), "b/add");
        stems.begin_step();
        assert_eq!(stems.next(&same), (Arc::from("a/add"), 0));
        assert_eq!(stems.next(&first), (Arc::from("a/add#1"), 1));
    }
}
