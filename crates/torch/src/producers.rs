use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Which value the tensors in memory are: the one that was written there last.
///
/// A view lies in the memory of the tensor that it is a view of, so it is the same value.
#[derive(Debug, Default)]
pub(crate) struct Producers {
    /// The end and the value of each region, by its start. Regions do not overlap.
    regions: BTreeMap<usize, (usize, Arc<str>)>,
}

impl Producers {
    /// Notes that a value was written to a region. A known region that contains this one gets the value as a whole.
    /// Other known regions that overlap with this one are forgotten.
    pub fn wrote(&mut self, region: Range<usize>, value: &Arc<str>) {
        if region.is_empty() {
            return;
        }
        let before = self.regions.range(..=region.start).next_back();
        if let Some((&start, (end, known))) = before.filter(|(_, (end, _))| *end >= region.end) {
            // It lies in a larger region: an operator that takes the larger region takes the new value.
            let whole = start..*end;
            if whole != region && known == value {
                return;
            }
            self.regions.insert(start, (whole.end, Arc::clone(value)));
            return;
        }
        let overlapping: Vec<usize> = self
            .regions
            .range(..region.end)
            .rev()
            .take_while(|(_, (end, _))| *end > region.start)
            .map(|(&start, _)| start)
            .collect();
        for start in overlapping {
            self.regions.remove(&start);
        }
        self.regions.insert(region.start, (region.end, Arc::clone(value)));
    }

    /// Returns the value at an address.
    pub fn at(&self, address: usize) -> Option<&Arc<str>> {
        let (_, (end, value)) = self.regions.range(..=address).next_back()?;
        (address < *end).then_some(value)
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.regions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_that_was_written_is_found_in_all_of_its_region() {
        let mut producers = Producers::default();
        let [a, b, c] = ["a", "b", "c"].map(Arc::from);
        producers.wrote(100..200, &a);
        producers.wrote(200..300, &b);
        let at = |producers: &Producers, address| producers.at(address).map(|value| value.to_string());
        assert_eq!(at(&producers, 150).as_deref(), Some("a"), "a view of it");
        assert_eq!(at(&producers, 200).as_deref(), Some("b"));
        assert_eq!((at(&producers, 99), at(&producers, 300)), (None, None));
        producers.wrote(120..140, &c);
        assert_eq!(at(&producers, 100).as_deref(), Some("c"), "a part of it was written");
        producers.wrote(150..260, &a);
        assert_eq!(at(&producers, 100), None, "other memory begins there");
        assert_eq!(at(&producers, 255).as_deref(), Some("a"));
        producers.clear();
        assert_eq!(at(&producers, 255), None);
    }
}
